// The one error a query ends with. Status and text are what PuppetDB's clients see (spec/query.md 7).

export class QueryError extends Error {
  /** HTTP status number, as data; of HTTP only request/ knows more. */
  readonly status: number;
  /** `text`: text/plain body; `json`: the message is a ready JSON text. */
  readonly form: 'text' | 'json';
  /** What is told instead if the query is PQL: all its integers are longs to Java, whatever their size. */
  readonly inPql: string;
  constructor(status: number, message: string, form: 'text' | 'json' = 'text', inPql = message) {
    super(message);
    this.name = 'QueryError';
    this.status = status;
    this.form = form;
    this.inPql = inPql;
  }
}

/** 400 with a plain text. */
export const badQuery = (message: string): QueryError => new QueryError(400, message);

/** What PuppetDB finds only while it writes the SQL: told after all that its checks find, and before what its database refuses. */
export class LateRefusal extends QueryError {
  constructor(message: string, inPql = message) {
    super(400, message, 'text', inPql);
    this.name = 'LateRefusal';
  }
}

/**
 * When PuppetDB's database refuses: before it is asked, because a value cannot be sent to it; when it analyses the statement, groups last;
 * when it reads the values; when it runs the statement.
 */
const STAGES = ['sending', 'analysis', 'grouping', 'values', 'running'] as const;
type Stage = (typeof STAGES)[number];

/**
 * A query that passes PuppetDB's own checks and is refused by its database. It is told after all other mistakes. Whoever asks for the
 * AST only is not told, unless the database has to be asked for that, too (for what `match()` stands for).
 */
export class StoreRefusal extends QueryError {
  readonly #stage: number;

  constructor(message: string, stage: Stage = 'analysis', inPql = message) {
    super(400, message, 'text', inPql);
    this.name = 'StoreRefusal';
    this.#stage = STAGES.indexOf(stage);
  }

  /** The one of both that is told; this one if they are found at the same stage. */
  orEarlier(other: StoreRefusal): StoreRefusal {
    return other.#stage < this.#stage ? other : this;
  }
}

/** Runs a check; keeps what the database would refuse in it for later, and goes on with `instead`. */
export type Defer = <T>(check: () => T, instead: T) => T;
