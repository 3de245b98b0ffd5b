// What a regular expression can be refused for, in PostgreSQL's words: the client reads them (spec/query.md 3.14).

import { type QueryError, StoreRefusal } from '../errors.ts';

const REASONS = {
  backReference: 'invalid backreference number',
  braces: 'braces {} not balanced',
  brackets: 'brackets [] not balanced',
  characterClass: 'invalid character class',
  collating: 'invalid collating element',
  escape: 'invalid escape \\ sequence',
  option: 'invalid embedded option',
  parentheses: 'parentheses () not balanced',
  pattern: 'invalid regexp (reg version 0.8)',
  quantifier: 'quantifier operand invalid',
  range: 'invalid character range',
  repetition: 'invalid repetition count(s)',
  tooComplex: 'regular expression is too complex',
} as const;

type Reason = keyof typeof REASONS;

export const invalidRegex = (reason: Reason): QueryError =>
  new StoreRefusal(`ERROR: invalid regular expression: ${REASONS[reason]}`, 'running');
