// What is asked of the host (store/records/unpack-kernel.ts).

/** Writes the text of a double that is not made here; the place behind it. */
export declare function double(value: f64, to: usize): usize;

/** Writes the date of a day since 1970, with a T behind it; the place behind it. */
export declare function date(day: f64, to: usize): usize;

/** Writes the value between these places as stored values are spelt; the place behind it, or 0 without room. */
export declare function eventValue(start: usize, end: usize, to: usize, limit: usize): usize;
