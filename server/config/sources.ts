// Where the values of settings come from, and what is told of that.

import type { SettingKey } from '../../schemas/config.ts';
import { type Place, placeText } from './tree.ts';
import type { RawValue } from './values.ts';

/** Where an effective value came from. */
export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'derived'; readonly text: string }
  /** `section`: as it is written there. */
  | { readonly kind: 'file'; readonly place: Place; readonly section: string }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string };

export type Sources = Readonly<Record<SettingKey, Source>>;

/** Whether somebody has set it: it is no default. */
export const isSet = ({ kind }: Source): boolean => kind !== 'default' && kind !== 'derived';

/** Something worth telling that does not keep the server from starting. */
export interface Notice {
  readonly level: 'info' | 'warn';
  readonly message: string;
}

/** What one source says of a setting. */
export interface Given {
  readonly raw: RawValue;
  readonly source: Source;
}
/** What one kind of source says of all. */
export type Layer = Map<SettingKey, Given>;

export function sourceText(source: Source): string {
  switch (source.kind) {
    case 'default':
      return 'default';
    case 'derived':
      return `default (${source.text})`;
    case 'file':
      return placeText(source.place);
    case 'environment':
      return `$${source.name}`;
    case 'flag':
      return `--${source.name}`;
  }
}
