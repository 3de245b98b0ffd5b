// What is asked of the host (query/exec/count/event-kernel.ts).

/** There is no memory of so many bytes; does not return. */
export declare function noRoom(size: usize): void;
