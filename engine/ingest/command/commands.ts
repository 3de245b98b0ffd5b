// A command after decoding: validated, upgraded to the latest version, everything computed that needs no stored state.
// `contents` are functions because most commands of a fleet change nothing: who sees that the hash is the stored one never
// asks for them. They throw CommandFailure for what only shows when they are made.

import type { JsonValue } from '../../json/value.ts';
import type { BodyRef, ListRef } from '../../store/items/refs.ts';
import type { EncodedEvents } from '../../store/records/event-record.ts';
import type {
  EdgeBody,
  EventRecord,
  FactBody,
  ItemId,
  PackageBody,
  ResourceBody,
} from '../../store/records/records.ts';
import type { ReportLists } from '../../store/records/report-lists.ts';

export type DecodedCommand =
  | FactsCommand
  | CatalogCommand
  | ReportCommand
  | DeactivateCommand
  | ExpirationCommand
  | InputsCommand;

interface DecodedBase {
  /** The payload's certname: decides where the data goes. */
  readonly certname: string;
  /** Epoch ms. */
  readonly producerTimestamp: number;
}

interface Storable extends DecodedBase {
  /**
   * Why the data cannot be stored, null when it can. Raised only when it would be stored: a stale or duplicate command
   * passes whatever it holds.
   */
  readonly refusal: string | null;
}

/** With the time of receipt, which is stored. */
interface Received extends Storable {
  /** Epoch ms. */
  readonly received: number;
}

export interface DecodedFact extends FactBody {
  /** Of facts that are remembered. */
  readonly ref?: BodyRef;
  /** The value that `value` is the text of, where that was made. */
  readonly json?: JsonValue;
}

export interface DecodedPackage extends PackageBody {
  /** Of packages that are remembered: their canonical text (spec/commands.md 4.7), and what stands for them. */
  readonly canonical?: string;
  readonly ref?: BodyRef;
}

export interface FactsContents {
  /** In stored key order of their names. */
  readonly facts: readonly DecodedFact[];
  /** Distinct, in the order they were sent. */
  readonly packages: readonly DecodedPackage[];
  /** Stands for the list of packages. */
  readonly packagesRef: ListRef;
}

export interface FactsCommand extends Received {
  readonly kind: 'facts';
  readonly environment: string | null;
  readonly producer: string | null;
  readonly hash: string;
  /** What is to be remembered of the payload once it is stored (spans.ts); null: nothing new. Set last by who decodes. */
  memo: string | null;
  contents(): FactsContents;
}

export interface DecodedResource {
  readonly type: string;
  readonly title: string;
  readonly ref: BodyRef;
  /** The item that the ref remembers, 0 when it does not: then there is a body. */
  readonly item: ItemId;
  readonly body: ResourceBody | null;
  /** By what it is known when it comes again (store/items/known-items.ts), if it is. */
  readonly known: { readonly digest: string; readonly flags: number } | null;
  /** Whether the command mentions them: what it does not mention keeps its stored value. */
  readonly fileGiven: boolean;
  readonly lineGiven: boolean;
}

/** The edges that start at one resource. */
export interface DecodedEdges {
  readonly body: EdgeBody;
  readonly ref: BodyRef;
}

export interface CatalogContents {
  /** Sorted by title and type. */
  readonly resources: readonly DecodedResource[];
  /** Grouped by source, distinct, sorted. Throws CommandFailure, too. */
  readonly edges: () => readonly DecodedEdges[];
  /** A reason not to store that lies in the resources. */
  readonly refusal: string | null;
}

export interface CatalogCommand extends Received {
  readonly kind: 'catalog';
  readonly version: string;
  readonly environment: string | null;
  readonly transactionUuid: string | null;
  readonly catalogUuid: string | null;
  readonly codeId: string | null;
  readonly jobId: string | null;
  readonly producer: string | null;
  readonly hash: string;
  /** Hash of a catalog of the certname that has the same edges, sent as the same bytes; null: none is known. */
  readonly edgesOf: string | null;
  /** What is to be remembered of the payload once it is stored (spans.ts); null: nothing new. Set last by who decodes. */
  memo: string | null;
  /** `recall`: the item that a ref remembers, 0 for none; resources with one need not be made. */
  contents(recall: (ref: BodyRef) => ItemId): CatalogContents;
}

/** Events ready for the store. */
export interface PlainEvents {
  readonly count: number;
  /** Epoch ms, 0 without events. */
  readonly timeMin: number;
  readonly timeMax: number;
  /** null: there are none. */
  readonly encoded: EncodedEvents | null;
}

export interface ReportCommand extends Received {
  readonly kind: 'report';
  readonly type: string;
  readonly puppetVersion: string;
  readonly reportFormat: number;
  readonly configurationVersion: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly producer: string | null;
  readonly environment: string;
  readonly status: string | null;
  readonly noop: boolean | null;
  readonly noopPending: boolean | null;
  readonly correctiveChange: boolean | null;
  readonly transactionUuid: string | null;
  readonly catalogUuid: string | null;
  readonly codeId: string | null;
  readonly cachedCatalogStatus: string | null;
  readonly jobId: string | null;
  readonly hash: string;
  contents(): ReportContents;
}

export interface ReportContents {
  /**
   * Distinct, in the order of the report; old ones included. No getter: of an object that is written with one V8 keeps a hidden
   * class each time, which keeps the getter, and with it the report, until a full collection.
   */
  readonly events: () => readonly EventRecord[];
  /** The same as they are stored, where they could be made without values. */
  readonly plainEvents: PlainEvents | null;
  readonly lists: ReportLists;
}

export interface DeactivateCommand extends DecodedBase {
  readonly kind: 'deactivate';
}

export interface ExpirationCommand extends Storable {
  readonly kind: 'expiration';
  /** Whether the node's facts may expire. */
  readonly expire: boolean;
}

export interface InputsCommand extends Storable {
  readonly kind: 'inputs';
  /** null: there is nothing to do, the node is not even created. */
  readonly inputs: {
    readonly catalogUuid: string;
    readonly hash: string;
    /** Stored JSON text `[[type, name], ...]`, distinct and sorted. */
    readonly text: string;
  } | null;
}
