/** Finds secrets in text even if encoded, escaped or cut. */

/** Minimum number of characters of a cut secret to mask; shorter fragments occur by chance. */
const SHORTEST = 4;
/** Minimum number of characters at the beginning of a secret to mask anywhere, because the text may be cut later. */
export const HEAD = 8;

export interface Form {
  characters: readonly RegExp[];
  whole: RegExp;
  start: string;
  head: number;
}

export function endOf({ characters, whole, head }: Form, text: string, index: number, ended: boolean): number {
  whole.lastIndex = index;
  if (whole.test(text)) return whole.lastIndex;
  const { count, at } = match(characters, text, index);
  if (count >= head) return at;
  const cut = ended ? /(?:[\\%&'][^\s…]{0,11})?\ufffd?(?=…)/y : /(?:[\\%&'][^\s…]{0,11})?\ufffd?(?=…|$)/y;
  cut.lastIndex = at;
  return count >= SHORTEST && cut.test(text) ? cut.lastIndex : index;
}

export function remains({ characters }: Form, text: string): number {
  for (let from = 1; from <= characters.length - SHORTEST; from += 1) {
    const { count, at } = match(characters, text, 0, from);
    if (from + count === characters.length) return at;
  }
  return 0;
}

function match(characters: readonly RegExp[], text: string, index: number, from = 0): { count: number; at: number } {
  let at = index;
  for (let count = 0; ; count += 1) {
    const character = characters[from + count];
    if (character === undefined) return { count, at };
    character.lastIndex = at;
    if (!character.test(text)) return { count, at };
    at = character.lastIndex;
  }
}

/** Lists the plain, hexadecimal and base64 encodings of a secret; base64 within other bytes has three alignments. */
export function formsOf(secret: string): Form[] {
  const bytes = Buffer.from(secret);
  const [alone = '', ...inside] = [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(before === 0 ? 0 : before + 1, before === 0 ? undefined : Math.floor(((before + bytes.length) * 8) / 6)),
  );
  const url = (character: string): string => `${escaped(character)}${{ '+': '|-', '/': '|_' }[character] ?? ''}`;
  return [
    form(secret, escaped),
    form(bytes.toString('hex'), digits),
    form(alone.replace(/=+$/, ''), url, '=*'),
    ...inside.filter((text) => text.length > SHORTEST + 1).map((text) => form(text, url)),
  ];
}

export const sources = (text: string, pattern: (character: string) => string): string[] =>
  [...text].map((character) => `(?:${pattern(character)})`);

function form(text: string, pattern: (character: string) => string, end = ''): Form {
  const patterns = sources(text, pattern);
  const telling = text.search(/[^A-Za-z._-]/);
  const head = Math.max(HEAD, telling === -1 ? Math.max(12, Math.ceil(text.length * 0.75)) : telling + 1);
  return {
    characters: patterns.map((source) => new RegExp(source, 'y')),
    whole: new RegExp(patterns.join('') + end, 'y'),
    start: patterns.slice(0, SHORTEST).join(''),
    head: head < patterns.length ? head : Number.POSITIVE_INFINITY,
  };
}

const NAMED: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };
const CONTROL: Readonly<Record<string, string>> = { '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't' };

/** Builds a pattern for a character: plain, escaped for JSON, URL, HTML or shell, or misread as Latin-1. */
export function escaped(character: string): string {
  if (/^\w$/.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  return [
    ...(character === "'" ? [`'\\\\+''`] : []),
    ...(character === ' ' ? ['\\+'] : []),
    ...(character in CONTROL ? [`\\\\+${CONTROL[character]}`] : []),
    character.replaceAll(UNIT, (unit) => `\\\\+u${digits(hex(unit.charCodeAt(0)))}`),
    Array.from(Buffer.from(character), (byte) => `%(?:25)*${digits(hex(byte).slice(-2))}`).join(''),
    `&(?:amp;)*(?:#0*${code}|#[xX]0*${digits(code.toString(16))}|${NAMED[character] ?? '#'});`,
    `\\\\*${literal(character)}`,
    literal(Buffer.from(character).toString('latin1')),
  ].join('|');
}

const UNIT = /[\s\S]/g;
const hex = (value: number): string => value.toString(16).padStart(4, '0');
const digits = (text: string): string => text.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
/** Escapes text for a pattern without RegExp.escape, which Node 22 lacks. */
const literal = (text: string): string => text.replaceAll(UNIT, (unit) => `\\u${hex(unit.charCodeAt(0))}`);
