/** Finds and masks secrets in records and reports, even if encoded, escaped or cut. */
import { isShortWords, MASK, tellsSecret } from './secret-names.ts';

/** Characters of the shortest fragment of a cut secret that is masked; shorter ones occur by chance. */
const SHORTEST = 4;
/** Characters of the shortest beginning of a secret that is masked anywhere, because the text may be cut later. */
const HEAD = 8;

interface Form {
  characters: readonly RegExp[];
  whole: RegExp;
  start: string;
  head: number;
}

function endOf({ characters, whole, head }: Form, text: string, index: number, ended: boolean): number {
  whole.lastIndex = index;
  if (whole.test(text)) return whole.lastIndex;
  const { count, at } = match(characters, text, index);
  if (count >= head) return at;
  const cut = ended ? /(?:[\\%&'][^\s…]{0,11})?\ufffd?(?=…)/y : /(?:[\\%&'][^\s…]{0,11})?\ufffd?(?=…|$)/y;
  cut.lastIndex = at;
  return count >= SHORTEST && cut.test(text) ? cut.lastIndex : index;
}

function remains({ characters }: Form, text: string): number {
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

/** Plain, hexadecimal and base64 forms of a secret; base64 within other bytes has three alignments. */
function formsOf(secret: string): Form[] {
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

const sources = (text: string, pattern: (character: string) => string): string[] =>
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

/** Pattern of a character: plain, escaped for JSON, URL, HTML or shell, or misread as Latin-1. */
function escaped(character: string): string {
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
/** Replaces RegExp.escape, which Node 22 lacks. */
export const literal = (text: string): string => text.replaceAll(UNIT, (unit) => `\\u${hex(unit.charCodeAt(0))}`);

/** Short secrets and ordinary words are masked only as the value of a credential. */
export const isOrdinary = (secret: string): boolean => secret.length < HEAD || isShortWords(secret);

/** False for PWD and OLDPWD, in which shells keep working folders. */
export const isSecretName = (name: string): boolean =>
  /KEY|TOKEN|SECRET|PASSWORD/i.test(name) || (tellsSecret(name) && !/^(?:OLD)?PWD$/.test(name));

export class Redactor {
  readonly #secrets = new Map<string, string | undefined>();
  readonly #forms: Form[] = [];
  #starts: RegExp | undefined;
  readonly #ordinary = new Set<string>();
  #values: RegExp | undefined;

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.add(secret);
  }

  /** `variable`: environment variable that replaces the secret in commands for users. */
  add(secret: string | undefined, variable?: string): void {
    if (secret === undefined || secret === '') return;
    const known = this.#secrets.has(secret);
    this.#secrets.set(secret, variable ?? this.#secrets.get(secret));
    if (known) return;
    if (isOrdinary(secret)) {
      this.#ordinary.add(secret);
      // Longest first, because a secret may begin with a shorter one.
      const longestFirst = [...this.#ordinary].sort((a, b) => b.length - a.length);
      const forms = longestFirst.map((one) => sources(one, escaped).join(''));
      this.#values = new RegExp(`(${BEFORE_VALUE})(?:${forms.join('|')})(?![\\w-])`, 'g');
      return;
    }
    // Masks long lines, too, because a target may return a private key line by line.
    const lines = secret.split(/\r?\n/).filter((line) => line.length >= 16 && !line.startsWith('-----'));
    this.#forms.push(...[...new Set([secret, ...lines])].flatMap(formsOf));
    this.#starts = new RegExp(`(?=${this.#forms.map(({ start }) => start).join('|')})`, 'g');
  }

  variable(secret: string): string | undefined {
    return this.#secrets.get(secret);
  }

  /** `ended: false`: the text may end within a secret. */
  text(text: string, { ended = true }: { ended?: boolean } = {}): string {
    const values = this.#values === undefined ? text : text.replaceAll(this.#values, `$1${MASK}`);
    if (this.#starts === undefined) return values;
    let clean = '';
    let from = 0;
    for (const { index } of values.matchAll(this.#starts)) {
      if (index < from) continue;
      const end = Math.max(...this.#forms.map((form) => endOf(form, values, index, ended)));
      if (end > index) clean += values.slice(from, index) + MASK;
      if (end > index) from = end;
    }
    const [first = '', ...cut] = (clean + values.slice(from)).split('…');
    const rest = cut.map((part) => {
      const length = Math.max(...this.#forms.map((form) => remains(form, part)));
      return length === 0 ? part : MASK + part.slice(length);
    });
    return [first, ...rest].join('…');
  }

  /** Masks before cutting to `limit` characters. `size`: total length if `text` is only the beginning. */
  excerpt(
    text: string,
    limit: number,
    { ended = true, size }: { ended?: boolean; size?: string | undefined } = {},
  ): string {
    // Takes more than `limit` characters, because a mask is shorter than its secret.
    const reach = limit * 2 + Math.max(0, ...this.#forms.map(({ characters }) => characters.length * 6));
    const whole = size === undefined && text.length <= reach;
    const clean = this.text(whole ? text : text.slice(0, reach), { ended: whole && ended });
    return whole && clean.length <= limit
      ? clean
      : `${clean.slice(0, limit)}… (${size ?? `${text.length} characters`})`;
  }

  header(name: string, value: string): string {
    return /^(?:x-api-key|(?:proxy-)?authorization|cookie|set-cookie)$/i.test(name) ? MASK : this.text(value);
  }

  headers(headers: Record<string, string>): Record<string, string> {
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, this.header(name, value)]));
  }

  value<T>(value: T): T {
    if (typeof value === 'string') return this.text(value) as T;
    if (Array.isArray(value)) return value.map((item) => this.value(item)) as T;
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.text(key), this.isSecret(key, item) ? MASK : this.value(item)]),
    ) as T;
  }

  protected isSecret(name: string, value: unknown): boolean {
    return CREDENTIAL.test(name) && typeof value === 'string' && this.#ordinary.has(value);
  }
}

const anyCase = (word: string): string => word.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
const CREDENTIAL_NAMES = anyCase('(?:key|token|secret|password|authorization)');
const CREDENTIAL = new RegExp(`${CREDENTIAL_NAMES}$`);
const SCHEME = `\\b${anyCase('(?:bearer|basic)')}(?:\\s+|%20)`;
const QUOTES = `["'\\\\]*`;
/** Text before the value of a credential: a scheme, or a name with an optional scheme. */
const BEFORE_VALUE = `${SCHEME}${QUOTES}|${CREDENTIAL_NAMES}${QUOTES}(?:\\s*[:=]\\s*|\\s+)${QUOTES}(?:${SCHEME})?`;
