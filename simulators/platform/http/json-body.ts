/** Reads a request body strictly: anything but plain, unambiguous JSON is refused before it can create anything. */
import { isUtf8 } from 'node:buffer';
import { PlatformError } from '../ports.ts';

const DEEPEST = 64;
/** Members and items of a body. What comes after would be looked at one by one, while every other client waits. */
const MOST_VALUES = 10_000;

const refuse = (message: string) => new PlatformError(400, 'invalid_json', message);

/** Throws PlatformError 400. */
export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw refuse('the request body is not valid UTF-8');
  if (values(bytes) > MOST_VALUES) {
    throw new PlatformError(413, 'body_too_large', `the request body has more than ${MOST_VALUES} members and items`);
  }
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse('the request body is not valid JSON');
  }
  checkStructure(text);
  checkText(value);
  return value;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];

/** The number of values in JSON, at most as many as it has members and items. One pass, without making anything. */
function values(bytes: Buffer): number {
  let count = 1;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === COMMA) count += 1;
    else if (byte === QUOTE) {
      for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at += 1;
    }
  }
  return count;
}

/** One pass over valid JSON: nesting is bounded, and no object names a member twice (JSON.parse would keep the last). */
function checkStructure(text: string): void {
  const open: (Set<string> | undefined)[] = [];
  let literal = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      const end = closingQuote(text, at);
      literal = text.slice(at, end + 1);
      at = end;
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : undefined);
      if (open.length > DEEPEST) throw refuse(`the request body is nested more than ${DEEPEST} levels deep`);
    } else if (character === '}' || character === ']') {
      open.pop();
    } else if (character === ':') {
      const name = JSON.parse(literal) as string;
      if (open.at(-1)?.has(name)) throw refuse(`the request body names ${JSON.stringify(name.slice(0, 64))} twice`);
      open.at(-1)?.add(name);
    }
  }
}

function closingQuote(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** Half a surrogate pair cannot be stored as UTF-8 and would come back as something else. */
function checkText(value: unknown): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw refuse('the request body contains half a surrogate pair');
  } else if (Array.isArray(value)) {
    for (const item of value) checkText(item);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      checkText(name);
      checkText(member);
    }
  }
}
