/**
 * Masks the secrets of a run in what is recorded and reported. A target may send a secret back in any encoding, and any
 * text may have been cut in the middle of one. So a secret is a list of patterns, one a character, of which the first
 * few can be found too.
 */

import { endOf, escaped, type Form, formsOf, HEAD, remains, sources } from './secret-forms.ts';
import { isShortWords, MASK, tellsSecret, withoutForms, withoutNamed } from './secret-names.ts';

/** Headers that carry a credential. */
const SECRET_HEADER = /^(?:x-api-key|(?:proxy-)?authorization|cookie|set-cookie)$/i;

/** Whether a secret may stand in other text by chance. Then it is masked only where it is the value of a credential. */
export const isOrdinary = (secret: string): boolean => secret.length < HEAD || isShortWords(secret);

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
      Object.entries(value).map(([key, item]) => [this.text(key), this.isSecret(key, item) ? MASK : this.value(item)]),
    ) as T;
  }

  protected isSecret(name: string, value: unknown): boolean {
    return CREDENTIAL.test(name) && typeof value === 'string' && this.#ordinary.has(value);
  }
}

/** Also what tells one item of a list from another: it depends on the value. */
const MAYBE_NAME = /^(?:key|sig)$/i;
/** Only of an address or a form; elsewhere it says what went wrong, or how a ping ended (section 2.5). */
const CODE = /^code$/i;
const MAYBE_MEMBER = /("(?:key|sig)"\s*:\s*")([^"\\]*)/gi;
/** In an address or a form. What is before the name keeps it from beginning within a longer one. */
const PARAMETER = /(?<=^|[?&#;,\s"'])([\w.+%[\]-]{1,200})=([^&#\s"'<>\\]+)/gm;
/** A name, a text or a mark, in JSON that can be read. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
/** A JWT may begin in it. */
const DOTTED = /(?<![\w-])[\w-]+(?:\.[\w-]*)+/g;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;
/** What secrets without a form of their own are made of. */
const WORD = /[\w-]{8,}/g;
const MOST_WORDS = 1000;

/**
 * For traffic of anybody: masks also what it does not know, where its name or its form says that it is a secret. What a
 * client sends is read once from its beginning to its end: no pattern begins again within its own match.
 */
export class TrafficRedactor extends Redactor {
  /** The newest last. */
  readonly #words = new Set<string>();

  /** Registers a secret that is masked only as it is: many of them cost little. The oldest are forgotten. */
  addWord(secret: string): void {
    for (const [word] of secret.matchAll(WORD)) {
      if (isOrdinary(word)) continue;
      this.#words.delete(word);
      this.#words.add(word);
      const [oldest] = this.#words.size > MOST_WORDS ? this.#words : [];
      if (oldest !== undefined) this.#words.delete(oldest);
    }
  }

  override text(text: string, options?: { ended?: boolean }): string {
    return withoutNamed(this.#unnamed(text, options));
  }

  /** Without what is known, and what its form tells. */
  #unnamed(text: string, options?: { ended?: boolean }): string {
    let clean = withoutForms(super.text(text, options).replaceAll(BEARER, `$1 ${MASK}`));
    // Most texts have none of these, and it takes longer to look for the whole.
    if (clean.includes('=')) clean = clean.replaceAll(PARAMETER, withoutParameter);
    if (clean.includes('eyJ')) clean = clean.replaceAll(DOTTED, withoutJwt);
    return this.#words.size === 0 ? clean : clean.replaceAll(WORD, (word) => (this.#words.has(word) ? MASK : word));
  }

  override header(name: string, value: string): string {
    return tellsSecret(name) ? MASK : super.header(name, value);
  }

  protected override isSecret(name: string, value: unknown): boolean {
    return super.isSecret(name, value) || (typeof value === 'string' && tellsSecret(name));
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
        return name.length < parameter.length && isSecret(name, parameter.slice(name.length + 1), true)
          ? `${name}=${MASK}`
          : parameter;
      });
    return this.text(`${path}?${parameters.join('&')}`);
  }

  /** A body: JSON is masked member by member, unless it was cut. What is not masked stays as it was written. */
  body(text: string, cut: boolean): string {
    if (!cut && parsed(text) !== undefined) return this.#unnamed(this.#json(text));
    return this.text(
      text.replaceAll(MAYBE_MEMBER, (all, before: string, value: string) =>
        looksRandom(value) ? `${before}${MASK}` : all,
      ),
    );
  }

  /** Reads tokens instead of values: numbers beyond a double and members of one name are kept. */
  #json(text: string): string {
    const tokens = [...text.matchAll(TOKENS)];
    const kept: string[] = [];
    let from = 0;
    const mask = (start: number, end: number, masked: string): void => {
      kept.push(text.slice(from, start), masked);
      from = end;
    };
    for (let index = 0; index < tokens.length; index += 1) {
      const { 0: token = '', index: at = 0 } = tokens[index] ?? {};
      if (!token.startsWith('"')) continue;
      if (tokens[index + 1]?.[0] !== ':') {
        const masked = this.#string(token);
        if (masked !== token) mask(at, at + token.length, masked);
      } else if (isSecretMember(tokens, index)) {
        const begin = tokens[index + 2];
        index = lastOfValue(tokens, index + 2);
        const end = tokens[index];
        if (begin !== undefined && end !== undefined) mask(begin.index, end.index + end[0].length, `"${MASK}"`);
      }
    }
    return kept.join('') + text.slice(from);
  }

  /** JSON in a string of JSON. */
  #string(token: string): string {
    const value = parsed(token);
    if (typeof value !== 'string') return token;
    const inner = /^\s*[[{]/.test(value) && parsed(value) !== undefined ? this.#json(value) : value;
    const masked = this.text(inner);
    return masked === value ? token : JSON.stringify(masked);
  }
}

/** Whether the value of a parameter is a secret. */
const isSecret = (name: string, value: string, isQuery: boolean): boolean =>
  tellsSecret(decoded(name)) || ((MAYBE_NAME.test(name) || (isQuery && CODE.test(name))) && !isOrdinary(value));

function withoutParameter(parameter: string, name: string, value: string, at: number, text: string): string {
  const isQuery = /[?&]/.test(text[at - 1] ?? '') || (at === 0 && text[parameter.length] === '&');
  return isSecret(name, value, isQuery) ? `${name}=${MASK}` : parameter;
}

/** The name of a member is that token; its value comes after the colon. */
function isSecretMember(tokens: readonly RegExpExecArray[], index: number): boolean {
  const textAt = (at: number): string => tokens[at]?.[0].replaceAll('"', '') ?? '';
  const [name, value] = [textAt(index), textAt(index + 2)];
  if (NOTHING.test(value)) return false;
  if (tellsSecret(name) || (MAYBE_NAME.test(name) && looksRandom(value))) return true;
  // `{"name": "password", "value": "x"}`, in either order.
  return name === 'value' && (tellsSecret(textAt(index - 2)) || tellsSecret(textAt(index + 6)));
}

const NOTHING = /^(?:null|true|false|)$/;

/** No name that somebody gave: letters of both cases with digits, or many letters and digits together. */
const looksRandom = (value: string): boolean =>
  value.length >= 12 &&
  ((/[A-Z]/.test(value) && /[a-z]/.test(value) && /\d/.test(value)) ||
    (value.match(/[a-z\d]{12,}/gi) ?? []).some((part) => part.replaceAll(/\D/g, '').length > 2));

/** The index of the last token of the value that begins with that one. */
function lastOfValue(tokens: readonly RegExpExecArray[], first: number): number {
  let depth = 0;
  for (let index = first; index < tokens.length; index += 1) {
    const token = tokens[index]?.[0] ?? '';
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    if (depth === 0) return index;
  }
  return tokens.length - 1;
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
