/** Masks secrets in records and reports, even if encoded or cut. */

import { endOf, escaped, type Form, formsOf, HEAD, remains, sources } from './secret-forms.ts';
import { isShortWords, MASK, tellsSecret, withoutForms, withoutNamed } from './secret-names.ts';

const SECRET_HEADER = /^(?:x-api-key|(?:proxy-)?authorization|cookie|set-cookie)$/i;

/** True for a short secret or an ordinary word, which Muster masks only as the value of a credential. */
export const isOrdinary = (secret: string): boolean => secret.length < HEAD || isShortWords(secret);

export const isSecretName = (name: string): boolean => /KEY|TOKEN|SECRET|PASSWORD/i.test(name);

export class Redactor {
  readonly #secrets = new Map<string, string | undefined>();
  readonly #forms: Form[] = [];
  #starts: RegExp | undefined;
  readonly #ordinary = new Set<string>();
  #values: RegExp | undefined;

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.add(secret);
  }

  /**
   * Adds a secret to mask. `variable` names the environment variable that replaces the secret in commands for users.
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
    // Also masks each long line of the secret, because a target may return a private key line by line.
    const lines = secret.split(/\r?\n/).filter((line) => line.length >= 16 && !line.startsWith('-----'));
    this.#forms.push(...[...new Set([secret, ...lines])].flatMap(formsOf));
    this.#starts = new RegExp(`(?=${this.#forms.map(({ start }) => start).join('|')})`, 'g');
  }

  variable(secret: string): string | undefined {
    return this.#secrets.get(secret);
  }

  /** Masks secrets in `text`; `ended: false` means that the text may end within a secret. */
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

  /** Masks secrets and then cuts to `limit` characters. `size` is the total length if `text` is only the beginning. */
  excerpt(
    text: string,
    limit: number,
    { ended = true, size }: { ended?: boolean; size?: string | undefined } = {},
  ): string {
    // Masks more text than `limit`, because masks are shorter than secrets and leave room for more text.
    const reach = limit * 2 + Math.max(0, ...this.#forms.map(({ characters }) => characters.length * 6));
    const whole = size === undefined && text.length <= reach;
    const clean = this.text(whole ? text : text.slice(0, reach), { ended: whole && ended });
    return whole && clean.length <= limit
      ? clean
      : `${clean.slice(0, limit)}… (${size ?? `${text.length} characters`})`;
  }

  header(name: string, value: string): string {
    return SECRET_HEADER.test(name) ? MASK : this.text(value);
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

const MAYBE_NAME = /^(?:key|sig)$/i;
/**
 * The parameter `code` is a secret in an address or a form; in JSON, `code` is an error code or the result of a ping.
 */
const CODE = /^code$/i;
const MAYBE_MEMBER = /("(?:key|sig)"\s*:\s*")([^"\\]*)/gi;
const PARAMETER = /(?<=^|[?&#;,\s"'])([\w.+%[\]-]{1,200})=([^&#\s"'<>\\]+)/gm;
/** Matches `user:password@` in a header. */
const USER = /((?:^|[\s,])[^\s:@/,]+:)[^\s:@/,]+@/g;
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const DOTTED = /(?<![\w-])[\w-]+(?:\.[\w-]*)+/g;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;
const WORD = /[\w-]{8,}/g;
const MOST_WORDS = 1000;

/** Also masks secrets that Muster does not know, by their names and formats, in linear time even for hostile text. */
export class TrafficRedactor extends Redactor {
  readonly #words = new Set<string>();

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

  #unnamed(text: string, options?: { ended?: boolean }): string {
    let clean = withoutForms(super.text(text, options).replaceAll(BEARER, `$1 ${MASK}`));
    // Searches for `=` and `eyJ` first, because the patterns are slow and most texts contain neither.
    if (clean.includes('=')) clean = clean.replaceAll(PARAMETER, withoutParameter);
    if (clean.includes('eyJ')) clean = clean.replaceAll(DOTTED, withoutJwt);
    return this.#words.size === 0 ? clean : clean.replaceAll(WORD, (word) => (this.#words.has(word) ? MASK : word));
  }

  override header(name: string, value: string): string {
    return tellsSecret(name) ? MASK : super.header(name, value).replaceAll(USER, `$1${MASK}@`);
  }

  protected override isSecret(name: string, value: unknown): boolean {
    return super.isSecret(name, value) || (typeof value === 'string' && tellsSecret(name));
  }

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

  body(text: string, cut: boolean): string {
    if (!cut && parsed(text) !== undefined) return this.#unnamed(this.#json(text));
    return this.text(
      text.replaceAll(MAYBE_MEMBER, (all, before: string, value: string) =>
        looksRandom(value) ? `${before}${MASK}` : all,
      ),
    );
  }

  /** Edits the text instead of parsed JSON, which would lose large numbers and repeated members. */
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
        const masked = isPaired(tokens, index) ? `"${MASK}"` : this.#string(token);
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

  #string(token: string): string {
    const value = parsed(token);
    if (typeof value !== 'string') return token;
    const inner = /^\s*[[{]/.test(value) && parsed(value) !== undefined ? this.#json(value) : value;
    const masked = this.text(inner);
    return masked === value ? token : JSON.stringify(masked);
  }
}

const isSecret = (name: string, value: string, isQuery: boolean): boolean =>
  tellsSecret(decoded(decoded(name))) ||
  ((MAYBE_NAME.test(name) || (isQuery && CODE.test(name))) && !isOrdinary(value));

function withoutParameter(parameter: string, name: string, value: string, at: number, text: string): string {
  const isQuery = /[?&]/.test(text[at - 1] ?? '') || (at === 0 && text[parameter.length] === '&');
  return isSecret(name, value, isQuery) ? `${name}=${MASK}` : parameter;
}

function isSecretMember(tokens: readonly RegExpExecArray[], index: number): boolean {
  const textAt = (at: number): string => stringIn(tokens[at]?.[0] ?? '');
  const [name, value] = [textAt(index), textAt(index + 2)];
  if (NOTHING.test(value)) return false;
  if (tellsSecret(name) || (MAYBE_NAME.test(name) && looksRandom(value))) return true;
  return name === 'value' && (tellsSecret(textAt(index - 2)) || tellsSecret(textAt(index + 6)));
}

const stringIn = (token: string): string => String(token.includes('\\') ? parsed(token) : token.replaceAll('"', ''));

/** True for the second text of a pair such as `["password", "x"]`. */
function isPaired(tokens: readonly RegExpExecArray[], index: number): boolean {
  const [open, name = '', comma, value = '', close] = tokens.slice(index - 3, index + 2).map(([token]) => token);
  const isPair = open === '[' && comma === ',' && close === ']';
  return isPair && tellsSecret(stringIn(name)) && !isShortWords(stringIn(value));
}

const NOTHING = /^(?:null|true|false|)$/;

const looksRandom = (value: string): boolean =>
  value.length >= 12 &&
  ((/[A-Z]/.test(value) && /[a-z]/.test(value) && /\d/.test(value)) ||
    (value.match(/[a-z\d]{12,}/gi) ?? []).some((part) => part.replaceAll(/\D/g, '').length > 2));

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
const CREDENTIAL = new RegExp(`${CREDENTIAL_NAMES}$`);

function credentialValues(secrets: readonly string[]): RegExp {
  const scheme = `\\b${anyCase('(?:bearer|basic)')}(?:\\s+|%20)`;
  const quotes = `["'\\\\]*`;
  const named = `${CREDENTIAL_NAMES}${quotes}(?:\\s*[:=]\\s*|\\s+)${quotes}(?:${scheme})?`;
  // Sorts the longest secret first, because a secret may begin with a shorter secret.
  const forms = [...secrets].sort((a, b) => b.length - a.length).map((secret) => sources(secret, escaped).join(''));
  return new RegExp(`(${scheme}${quotes}|${named})(?:${forms.join('|')})(?![\\w-])`, 'g');
}
