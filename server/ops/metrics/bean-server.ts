// Beans: what management clients list, search and read. A bean has a name, attributes and operations (shown, never run);
// where its figures come from is its source's business. Figures are taken once per answer (`reader`), so that the
// attributes of one answer belong together.

import type { Json } from '../../json.ts';
import { matchesName, type ObjectName } from './object-name.ts';

interface AttributeInfo {
  readonly name: string;
  /** Type name as clients of the JVM know it: `long`, `java.lang.String`. */
  readonly type: string;
  readonly description: string;
}

export interface OperationInfo {
  readonly name: string;
  readonly returns: string;
  readonly description: string;
}

interface BeanInfo {
  readonly className: string;
  readonly description: string;
  readonly attributes: readonly AttributeInfo[];
  readonly operations: readonly OperationInfo[];
}

/** Value of an attribute by name; undefined when the bean has no such attribute. May throw or reject. */
type AttributeReader = (attribute: string) => Json | undefined | Promise<Json>;

export interface Bean {
  readonly name: ObjectName;
  readonly info: BeanInfo;
  /** A second name of a bean: found by who asks for its domain, not by a pattern over all domains. */
  readonly alias: boolean;
  reader(): AttributeReader;
}

export interface BeanSource {
  find(name: ObjectName): Bean | undefined;
  /** All beans. Names of one source are distinct from those of any other. */
  beans(): Iterable<Bean>;
}

/** An attribute of a kind of bean: how to get it out of the figures that `open` took. */
export interface AttributeRow<T> extends AttributeInfo {
  read(figures: T): Json | Promise<Json>;
}

export interface BeanKind<T> extends BeanInfo {
  readonly attributes: readonly AttributeRow<T>[];
}

export function createBean<T>(name: ObjectName, kind: BeanKind<T>, open: () => T, alias = false): Bean {
  return {
    name,
    info: kind,
    alias,
    reader: () => {
      const figures = open();
      return (attribute) => kind.attributes.find((row) => row.name === attribute)?.read(figures);
    },
  };
}

export class BeanServer {
  readonly #sources: readonly BeanSource[];
  readonly #clock: () => number;
  #size = -1;
  #changed: number;

  /** `clock`: epoch milliseconds. */
  constructor(sources: readonly BeanSource[], clock: () => number) {
    this.#sources = sources;
    this.#clock = clock;
    this.#changed = clock();
  }

  find(name: ObjectName): Bean | undefined {
    for (const source of this.#sources) {
      const bean = source.find(name);
      if (bean !== undefined) return bean;
    }
    return undefined;
  }

  /** Beans that a pattern stands for (or the one bean of a concrete name), in the order of their sources. */
  query(pattern: ObjectName): Bean[] {
    if (!pattern.pattern) {
      const bean = this.find(pattern);
      return bean === undefined ? [] : [bean];
    }
    const everyDomain = /^[*?]/.test(pattern.domain);
    const found: Bean[] = [];
    for (const bean of this.all()) {
      if (!(everyDomain && bean.alias) && matchesName(pattern, bean.name)) found.push(bean);
    }
    return found;
  }

  get size(): number {
    let size = 0;
    for (const _ of this.all()) size++;
    return size;
  }

  *all(): IterableIterator<Bean> {
    for (const source of this.#sources) yield* source.beans();
  }

  /** Whether beans came or went at or after `seconds` (epoch). Beans hardly ever go, so their number tells. */
  changedSince(seconds: number): boolean {
    const { size } = this;
    if (size !== this.#size) {
      if (this.#size >= 0) this.#changed = this.#clock();
      this.#size = size;
    }
    return Math.floor(this.#changed / 1000) >= seconds;
  }
}
