// What is asked of the host (ingest/read/report/list-kernel.ts).

/** Appends to `to` the stored text of the value between these places; where it ends, or 0 when it is no value or has no room. */
export declare function over(start: usize, end: usize, depth: u32, to: usize, limit: usize): usize;

/** The double of a decimal text that is not decided here. */
export declare function decimal(start: usize, end: usize): f64;

/** Epoch ms of the text of a time, NaN when it is none. */
export declare function time(start: usize, end: usize): f64;

/** When the minute of a time begins, epoch ms, if each second of it is a time; else NaN. */
export declare function minute(start: usize, end: usize): f64;
