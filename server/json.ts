// The plain values that operational answers are made of.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export function isJsonMap(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
