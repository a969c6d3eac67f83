/**
 * Masks the secrets of a run in what is recorded and reported. A target may send a secret back in any encoding, and any
 * text may have been cut in the middle of one. So a secret is a list of patterns, one a character, of which the first
 * few can be found too.
 */

const MASK = '***';
/** Headers that carry a credential. */
const SECRET_HEADER = /^(?:x-api-key|(?:proxy-)?authorization|cookie|set-cookie)$/i;
/** Of a secret that was cut, fewer characters than these are left alone: they would be found by chance. */
const SHORTEST = 4;
/**
 * The first characters of a secret are masked wherever they stand, if they are so many: the text may have been cut
 * there.
 */
const HEAD = 8;
/** One word, or a few, such as `limited` or `dev-key`: they stand in text that has nothing to do with a secret. */
const WORDS = /^[a-z]+(?:[-_. ][a-z]+)*$/i;
const LONGEST_WORDS = 16;

/** Whether a secret may stand in other text by chance. Then it is masked only where it is the value of a credential. */
const isOrdinary = (secret: string): boolean =>
  secret.length < HEAD || (secret.length < LONGEST_WORDS && WORDS.test(secret));

/** Whether a variable of that name holds a secret. */
export const isSecretName = (name: string): boolean => /KEY|TOKEN|SECRET|PASSWORD/i.test(name);

/** The secrets of one run. Checks and reports use it to mask everything that they keep or write. */
export class Redactor {
  readonly #secrets = new Map<string, string | undefined>();
  readonly #forms: Form[] = [];
  /** Finds every place where a form may begin. */
  #starts: RegExp | undefined;
  readonly #ordinary = new Set<string>();
  /** Finds the ordinary ones where they are values of credentials. */
  #values: RegExp | undefined;

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.add(secret);
  }

  /**
   * Registers a secret. One of fewer than 8 characters, or of ordinary words, is masked only as the value of a
   * credential: in `Bearer …`, behind an option or in a field whose name ends in key, token, secret or password.
   *
   * @param variable environment variable that holds it, for the lines that repeat a request
   */
  add(secret: string | undefined, variable?: string): void {
    if (secret === undefined || secret === '') return;
    const known = this.#secrets.has(secret);
    this.#secrets.set(secret, variable ?? this.#secrets.get(secret));
    if (known) return;
    if (isOrdinary(secret)) {
      this.#ordinary.add(secret);
      this.#values = credentialValues([...this.#ordinary]);
      return;
    }
    // A private key may come back line by line.
    const lines = secret.split(/\r?\n/).filter((line) => line.length >= 16 && !line.startsWith('-----'));
    this.#forms.push(...[...new Set([secret, ...lines])].flatMap(formsOf));
    this.#starts = new RegExp(`(?=${this.#forms.map(({ start }) => start).join('|')})`, 'g');
  }

  /** The variable that holds this very secret. */
  variable(secret: string): string | undefined {
    return this.#secrets.get(secret);
  }

  /** Masks every secret. `ended: false`: the text stops somewhere, as that of a dropped connection does. */
  text(text: string, { ended = true }: { ended?: boolean } = {}): string {
    const values = this.#values === undefined ? text : text.replaceAll(this.#values, `$1${MASK}`);
    return this.#starts === undefined ? values : this.#anywhere(values, this.#starts, ended);
  }

  #anywhere(text: string, starts: RegExp, ended: boolean): string {
    let clean = '';
    let from = 0;
    for (const { index } of text.matchAll(starts)) {
      if (index < from) continue;
      const end = Math.max(...this.#forms.map((form) => endOf(form, text, index, ended)));
      if (end > index) clean += text.slice(from, index) + MASK;
      if (end > index) from = end;
    }
    const [first = '', ...cut] = (clean + text.slice(from)).split('…');
    const rest = cut.map((part) => {
      const length = Math.max(...this.#forms.map((form) => remains(form, part)));
      return length === 0 ? part : MASK + part.slice(length);
    });
    return [first, ...rest].join('…');
  }

  /**
   * The first `limit` characters of a text, masked before they are cut off, so that no secret is cut in two. `size`
   * says how long all of it is, where the text itself is only its beginning.
   */
  excerpt(
    text: string,
    limit: number,
    { ended = true, size }: { ended?: boolean; size?: string | undefined } = {},
  ): string {
    // A mask is shorter than what it hides, so text beyond the limit moves up.
    const reach = limit * 2 + Math.max(0, ...this.#forms.map(({ characters }) => characters.length * 6));
    const whole = size === undefined && text.length <= reach;
    const clean = this.text(whole ? text : text.slice(0, reach), { ended: whole && ended });
    return whole && clean.length <= limit
      ? clean
      : `${clean.slice(0, limit)}… (${size ?? `${text.length} characters`})`;
  }

  /** The value of a header: masked whole where it carries a credential, and of secrets in any other. */
  header(name: string, value: string): string {
    return SECRET_HEADER.test(name) ? MASK : this.text(value);
  }

  headers(headers: Record<string, string>): Record<string, string> {
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, this.header(name, value)]));
  }

  /** Masks secrets in every string of a JSON value, keys included. */
  value<T>(value: T): T {
    if (typeof value === 'string') return this.text(value) as T;
    if (Array.isArray(value)) return value.map((item) => this.value(item)) as T;
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        this.text(key),
        CREDENTIAL.test(key) && this.#ordinary.has(item) ? MASK : this.value(item),
      ]),
    ) as T;
  }
}

/** Members, parameters and headers whose value is a secret. */
const NAME = String.raw`[\w-]*(?:token|password|passwd|secret|authorization|api[_-]?key|private_key(?:_pem)?)`;
const WHOLE_NAME = new RegExp(`^${NAME}$`, 'i');
/** In JSON that was cut, and so cannot be read. */
const MEMBER = new RegExp(String.raw`("${NAME}"\s*:\s*)(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^\s,}\]"[{]+)`, 'gis');
/** In JSON that is a string in JSON. */
const INNER_MEMBER = new RegExp(String.raw`((?<!\\)\\+"${NAME}\\+"\s*:\s*\\+")(?:[^\\]|\\+(?![\\"]))*(\\+"|$)`, 'gis');
/** A JWT may begin in it. */
const DOTTED = /(?<![\w-])[\w-]+(?:\.[\w-]*)+/g;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;

/**
 * For traffic of anybody: masks also what it does not know, where its name or its form says that it is a secret. What a
 * client sends is read once from its beginning to its end: no pattern begins again within its own match.
 */
export class TrafficRedactor extends Redactor {
  override text(text: string, options?: { ended?: boolean }): string {
    return super.text(text, options).replaceAll(BEARER, `$1 ${MASK}`).replaceAll(DOTTED, withoutJwt);
  }

  override header(name: string, value: string): string {
    return WHOLE_NAME.test(name) ? MASK : super.header(name, value);
  }

  /** Path and query. */
  url(url: string): string {
    const [path = '', ...query] = url.split('?');
    if (query.length === 0) return this.text(path);
    const parameters = query
      .join('?')
      .split('&')
      .map((parameter) => {
        const name = parameter.split('=', 1)[0] ?? '';
        return name.length < parameter.length && WHOLE_NAME.test(decoded(name)) ? `${name}=${MASK}` : parameter;
      });
    return this.text(`${path}?${parameters.join('&')}`);
  }

  /** A body: JSON is masked member by member, unless it was cut. */
  body(text: string, cut: boolean): string {
    const value = cut ? undefined : parsed(text);
    if (value !== undefined) return this.text(JSON.stringify(this.#members(value)));
    return this.text(text.replaceAll(INNER_MEMBER, `$1${MASK}$2`).replaceAll(MEMBER, `$1"${MASK}"`));
  }

  #members(value: unknown): unknown {
    if (typeof value === 'string') return this.#string(value);
    if (Array.isArray(value)) return value.map((each) => this.#members(each));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, WHOLE_NAME.test(name) ? MASK : this.#members(each)]),
    );
  }

  #string(value: string): string {
    const inner = /^\s*[[{]/.test(value) ? parsed(value) : undefined;
    if (inner === undefined) return this.text(value);
    const masked = JSON.stringify(this.#members(inner));
    // What holds no secret is shown as it was written.
    return masked === JSON.stringify(inner) ? this.text(value) : masked;
  }
}

function withoutJwt(dotted: string): string {
  const at = dotted.search(/\beyJ[\w-]/);
  return at === -1 || !dotted.includes('.', at + 4) ? dotted : dotted.slice(0, at) + MASK;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

const anyCase = (word: string): string => word.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
const CREDENTIAL_NAMES = anyCase('(?:key|token|secret|password|authorization)');
/** The name of a field or an option that holds a credential. */
const CREDENTIAL = new RegExp(`${CREDENTIAL_NAMES}$`);

/**
 * Finds the secrets behind the name of a credential or of a scheme, which is the first group, and not as part of a
 * longer word.
 */
function credentialValues(secrets: readonly string[]): RegExp {
  const scheme = `\\b${anyCase('(?:bearer|basic)')}(?:\\s+|%20)`;
  const quotes = `["'\\\\]*`;
  const named = `${CREDENTIAL_NAMES}${quotes}(?:\\s*[:=]\\s*|\\s+)${quotes}(?:${scheme})?`;
  // The longest first: one may begin with another.
  const forms = [...secrets].sort((a, b) => b.length - a.length).map((secret) => sources(secret, escaped).join(''));
  return new RegExp(`(${scheme}${quotes}|${named})(?:${forms.join('|')})(?![\\w-])`, 'g');
}

/** A secret in one encoding. */
interface Form {
  /** Sticky patterns, one for each character however it may be escaped. */
  characters: readonly RegExp[];
  /**
   * Sticky, for all of it. Unlike the characters one by one, it tries again where a character can be read in two ways.
   */
  whole: RegExp;
  /** Source of the pattern of its first characters. */
  start: string;
  /** How many characters at its beginning tell it from other text. */
  head: number;
}

/** Where a form that begins at `index` ends; `index` when too little of it is there to tell it from other text. */
function endOf({ characters, whole, head }: Form, text: string, index: number, ended: boolean): number {
  whole.lastIndex = index;
  if (whole.test(text)) return whole.lastIndex;
  const { count, at } = match(characters, text, index);
  if (count >= head) return at;
  // A cut may go through an escaped character.
  const cut = ended ? /(?:[\\%&'][^\s…]{0,11})?\ufffd?(?=…)/y : /(?:[\\%&'][^\s…]{0,11})?\ufffd?(?=…|$)/y;
  cut.lastIndex = at;
  return count >= SHORTEST && cut.test(text) ? cut.lastIndex : index;
}

/** Length of the longest end of a form that the text begins with. */
function remains({ characters }: Form, text: string): number {
  for (let from = 1; from <= characters.length - SHORTEST; from += 1) {
    const { count, at } = match(characters, text, 0, from);
    if (from + count === characters.length) return at;
  }
  return 0;
}

/**
 * How many characters, beginning with that number `from`, stand in the text at `index`, and where the last of them
 * ends.
 */
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

/**
 * A secret as it is, in hexadecimal and in base64, alone or in a longer text whose bytes before it shift its
 * characters.
 */
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
  // Up to the first character that words do not have, or most of it.
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

/** A character plain, escaped for JSON or a URL (however often), for HTML or a shell, or misread as Latin-1. */
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
/** Node 22 has no RegExp.escape. */
const literal = (text: string): string => text.replaceAll(UNIT, (unit) => `\\u${hex(unit.charCodeAt(0))}`);
