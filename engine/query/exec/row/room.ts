// Memory for what queries keep of their rows. All queries of a thread share it, and one that needs more than there is left is refused.

/** Bytes that may still be kept. */
export interface Room {
  left: number;
}

/** Takes bytes of a query's room, or, below 0, gives them back. Throws QueryError when there is no room for them. */
export type Hold = (bytes: number) => void;

/** What is kept: how the refusal of more begins, and what can be done. */
export const KEEPING = {
  order: { purpose: 'To put its rows in order', remedy: 'give it a limit, or a smaller offset' },
  groups: { purpose: 'To group its rows', remedy: 'group by less, or let a filter leave fewer rows' },
  counts: { purpose: 'To count its events', remedy: 'let a filter leave fewer of them' },
  subquery: { purpose: 'For what its subquery finds', remedy: 'let a filter leave fewer rows of that' },
} as const;

export type Keeping = keyof typeof KEEPING;
