// Classes of items: which items of a dictionary are equal in all of the fields that take few values over very many items
// (a resource's type, file and line, a package's name). What a query asks of such fields it asks once a class. The numbers
// are the same over all partitions that a thread reads, and are kept by the thread as long as an item id is of the same body.

import type { Fields } from '../records/fields.ts';
import type { ItemId } from '../records/records.ts';
import { ItemSignatures, type Mark } from './item-signatures.ts';

const PAGE_BITS = 10;
const PAGE_MASK = (1 << PAGE_BITS) - 1;
const PAGE_BYTES = 4 << PAGE_BITS;
/** What a class takes beside its text. */
const CLASS_OVERHEAD = 100;
/** Bytes that all classes of a thread may take. Beyond it all are forgotten: they are found again. */
const CLASSES_BYTES_MAX = 16 << 20;

/**
 * Never given twice, so that numbers of different dictionaries, or from before classes were forgotten, do not meet: what is
 * equal may have two numbers, what differs never has the same.
 */
let nextNumber = 1;

/** The classes of one kind of dictionary, over all partitions of a thread. */
class ClassNames {
  readonly numbers = new Map<string, number>();
}

/** Numbers of the items of one partition. */
export class ItemClasses {
  readonly #budget: ClassBudget;
  readonly #names: ClassNames;
  readonly #places: readonly number[];
  #pages: (Uint32Array | undefined)[] = [];

  constructor(budget: ClassBudget, names: ClassNames, places: readonly number[]) {
    this.#budget = budget;
    this.#names = names;
    this.#places = places;
  }

  /** The item's class, 0 when it is not known yet. */
  get(id: ItemId): number {
    const page = this.#pages[id >>> PAGE_BITS];
    return page === undefined ? 0 : page[id & PAGE_MASK]!;
  }

  /** The same, found out where it is not known. */
  of(id: ItemId, reader: { glance(id: ItemId): Fields }): number {
    return this.get(id) || this.add(id, reader.glance(id));
  }

  /** Finds the class of an item whose record that is. */
  add(id: ItemId, record: Fields): number {
    let text = '';
    for (const place of this.#places) text += `${record.text(place)}\n`;
    const { numbers } = this.#names;
    let number = numbers.get(text);
    if (number === undefined) {
      number = nextNumber++;
      numbers.set(text, number);
      this.#budget.use(text.length + CLASS_OVERHEAD);
    }
    let page = this.#pages[id >>> PAGE_BITS];
    if (page === undefined) {
      page = new Uint32Array(1 << PAGE_BITS);
      this.#pages[id >>> PAGE_BITS] = page;
      this.#budget.use(PAGE_BYTES);
    }
    page[id & PAGE_MASK] = number;
    return number;
  }

  forget(): void {
    this.#pages = [];
  }
}

/** What the classes and signatures of a thread share: names, and a bound on what they take. */
export class ClassBudget {
  /** By kind of dictionary. */
  readonly #names = new Map<string, ClassNames>();
  readonly #all = new Set<{ forget(): void }>();
  readonly #bytesMax: number;
  #used = 0;

  constructor(bytesMax = CLASSES_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** New classes of one partition's dictionary, by the fields at these places. */
  open(dictionary: string, places: readonly number[]): ItemClasses {
    const classes = this.apart(dictionary, places);
    this.#all.add(classes);
    return classes;
  }

  /** Signatures of one partition's dictionary take of the same bytes. */
  sign(sign: (record: Fields, mark: Mark) => void): ItemSignatures {
    const signatures = new ItemSignatures(sign, (bytes) => this.use(bytes));
    this.#all.add(signatures);
    return signatures;
  }

  /** New classes for one query. */
  apart(dictionary: string, places: readonly number[]): ItemClasses {
    let names = this.#names.get(dictionary);
    if (names === undefined) this.#names.set(dictionary, (names = new ClassNames()));
    return new ItemClasses(this, names, places);
  }

  /** Nobody opens these again. */
  close(...gone: readonly ({ forget(): void } | null)[]): void {
    for (const one of gone) if (one !== null) this.#all.delete(one);
  }

  use(bytes: number): void {
    this.#used += bytes;
    if (this.#used <= this.#bytesMax) return;
    this.#used = 0;
    for (const classes of this.#all) classes.forget();
    for (const names of this.#names.values()) names.numbers.clear();
  }
}
