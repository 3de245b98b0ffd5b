// What packed lists of maps look like (packed-list.ts).

/** Keys in stored order, with the shape of those that hold lists of maps. What lies on disk depends on all of it. */
export interface ListShape {
  readonly keys: readonly string[];
  readonly lists: Readonly<Record<string, ListShape>>;
}
