// What a thread keeps by id, or by another key, for the next ones who ask, in two generations: the older one goes when the younger one has
// used up its part of the room. What is asked for of the older one moves to the younger one, but not so much that this alone makes the next
// one begin: who goes through more than there is room for would go on moving all of it, and find none.

/** So much of a generation is for what moves into it. */
const MOVED_SHARE = 1 / 6;

/** The room of two generations, in any unit. */
export class GenerationRoom {
  readonly #broughtMax: number;
  readonly #movedMax: number;
  /** Of the younger generation. */
  #brought = 0;
  #moved = 0;
  /** Of the older one. */
  #usedBefore = 0;

  /** `max`: of both. */
  constructor(max: number) {
    this.#movedMax = (max / 2) * MOVED_SHARE;
    this.#broughtMax = max / 2 - this.#movedMax;
  }

  get used(): number {
    return this.#brought + this.#moved + this.#usedBefore;
  }

  /** For what is about to be kept in the younger generation. True: the next one has begun with it. */
  use(size: number): boolean {
    const begins = this.#brought + size > this.#broughtMax;
    if (begins) this.turn();
    this.#brought += size;
    return begins;
  }

  /** For what is about to move to the younger generation. False: it stays where it is. */
  move(size: number): boolean {
    if (this.#moved + size > this.#movedMax) return false;
    this.#moved += size;
    return true;
  }

  /** The older generation goes, the younger one becomes the older. */
  turn(): void {
    this.#usedBefore = this.#brought + this.#moved;
    this.#brought = 0;
    this.#moved = 0;
  }
}

/** Two generations. When the next one begins is up to who has the room. */
export abstract class Generations<V, K = number> {
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  /** Whether there is room for it to move to the younger generation. */
  protected abstract mayMove(value: V): boolean;

  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined && this.mayMove(old)) this.#young.set(key, old);
    return old;
  }

  set(key: K, value: V): void {
    this.#young.set(key, value);
  }

  /** The older generation goes, the younger one becomes the older. */
  turn(): void {
    this.#old = this.#young;
    this.#young = new Map();
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}

/** So many values at most, those that were asked for lately among them. */
export class Recent<V, K = number> extends Generations<V, K> {
  readonly #room: GenerationRoom;

  constructor(max: number) {
    super();
    this.#room = new GenerationRoom(max);
  }

  protected mayMove(): boolean {
    return this.#room.move(1);
  }

  override set(key: K, value: V): void {
    if (this.#room.use(1)) this.turn();
    super.set(key, value);
  }
}
