import { jsonOf, orElse, parseJson } from './lenient.ts';
import { isOrdinary, Redactor } from './redact.ts';
import { withoutSecretsIn } from './secret-documents.ts';
import { isSecretOption, isShortWords, MASK, tellsSecret, withoutForms, withoutNamed } from './secret-names.ts';

const MAYBE_NAME = /^(?:key|sig)$/i;
/** Name of a secret in an address or a form; in JSON, of an error code or the result of a ping. */
const CODE = /^code$/i;
const MAYBE_MEMBER = /("(?:key|sig)"\s*:\s*")([^"\\]*)/gi;
const PARAMETER = /(?<=^|[?&#;,\s"'])([\w.+%[\]-]{1,200})=([^&#\s"'<>\\]+)/gm;
/** `user:password@` in a header. */
const USER = /((?:^|[\s,])[^\s:@/,]+:)[^\s:@/,]+@/g;
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;
const WORD = /[\w-]{8,}/g;
const DATA = /^(data: ?)([^\r\n]*)/gm;

/** Also masks secrets that Muster does not know, by their names and formats, in linear time even for hostile text. */
export class TrafficRedactor extends Redactor {
  readonly #words = new Set<string>();

  addWord(secret: string): void {
    for (const [word] of secret.matchAll(WORD)) {
      if (isOrdinary(word)) continue;
      this.#words.delete(word);
      this.#words.add(word);
      const [oldest] = this.#words.size > 1000 ? this.#words : [];
      if (oldest !== undefined) this.#words.delete(oldest);
    }
  }

  override text(text: string, options?: { ended?: boolean }): string {
    return withoutNamed(this.#unnamed(text, options));
  }

  #unnamed(text: string, options?: { ended?: boolean }): string {
    let clean = withoutForms(super.text(text, options).replaceAll(BEARER, `$1 ${MASK}`));
    // Searches for `=` and `eyJ` first, because the patterns are slow and most texts contain neither.
    if (clean.includes('='))
      clean = clean.replaceAll(PARAMETER, (parameter, name: string, value: string, at: number, whole: string) => {
        const isQuery = /[?&]/.test(whole[at - 1] ?? '') || (at === 0 && whole[parameter.length] === '&');
        return isSecret(name, value, isQuery) ? `${name}=${MASK}` : parameter;
      });
    if (clean.includes('eyJ'))
      clean = clean.replaceAll(/(?<![\w-])[\w-]+(?:\.[\w-]*)+/g, (dotted) => {
        const at = dotted.search(/\beyJ[\w-]/);
        return at === -1 || !dotted.includes('.', at + 4) ? dotted : dotted.slice(0, at) + MASK;
      });
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
    const events = text.split(/(\r\n\r\n|\n\n|\r\r)/).map((event) => {
      const lines = Array.from(event.matchAll(DATA), ([, , line = '']) => line);
      if (lines.length === 0) return event;
      const masked = this.data(lines, cut).values();
      return event.replaceAll(DATA, (_, name: string) => `${name}${masked.next().value}`);
    });
    return this.#whole(events.join(''), cut);
  }

  /** Masks the data lines of an event as one body, because a secret may span lines. */
  data(lines: readonly string[], cut: boolean): string[] {
    const masked = this.#whole(lines.join('\n'), cut).split('\n');
    return lines.map((_, index) => masked[index] ?? '');
  }

  #whole(text: string, cut: boolean): string {
    if (!cut && parseJson(text) !== undefined) return this.#unnamed(this.#json(text));
    const lines = text.replaceAll(/^[{[].*[}\]]\r?$/gm, (line) =>
      parseJson(line) === undefined ? line : this.#json(line),
    );
    return this.text(
      withoutSecretsIn(lines).replaceAll(MAYBE_MEMBER, (all, before: string, value: string) =>
        looksRandom(value) ? `${before}${MASK}` : all,
      ),
    );
  }

  /** Edits the text, because parsing would lose large numbers and repeated members. */
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
    const value = jsonOf(token);
    if (typeof value !== 'string') return token;
    const inner = /^\s*[[{]/.test(value) && parseJson(value) !== undefined ? this.#json(value) : value;
    const masked = this.text(inner === value ? withoutSecretsIn(value) : inner);
    return masked === value ? token : JSON.stringify(masked);
  }
}

const isSecret = (name: string, value: string, isQuery: boolean): boolean =>
  tellsSecret(memberOf(decoded(decoded(name)))) ||
  ((MAYBE_NAME.test(name) || (isQuery && CODE.test(name))) && !isOrdinary(value));

/** `password` of `user[password]`. */
const memberOf = (name: string): string => /\[([^\]]+)\]$/.exec(name)?.[1] ?? name;

function isSecretMember(tokens: readonly RegExpExecArray[], index: number): boolean {
  const textAt = (at: number): string => stringIn(tokens[at]?.[0] ?? '');
  const [name, value] = [textAt(index), textAt(index + 2)];
  if (/^(?:null|true|false|)$/.test(value)) return false;
  if (tellsSecret(name) || (MAYBE_NAME.test(name) && looksRandom(value))) return true;
  return name.toLowerCase() === 'value' && (tellsSecret(textAt(index - 2)) || tellsSecret(textAt(index + 6)));
}

const stringIn = (token: string): string => String(token.includes('\\') ? jsonOf(token) : token.replaceAll('"', ''));

/** True for the second text of a pair such as `["password", "x"]`, and for `"x"` after the option `"--password"`. */
function isPaired(tokens: readonly RegExpExecArray[], index: number): boolean {
  const [open, name = '', comma, value = '', close] = tokens.slice(index - 3, index + 2).map(([token]) => token);
  if (stringIn(name).startsWith('--')) return comma === ',' && isSecretOption(stringIn(name), stringIn(value));
  const isPair = open === '[' && comma === ',' && close === ']';
  return isPair && tellsSecret(stringIn(name)) && !isShortWords(stringIn(value));
}

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

const decoded = (text: string): string => orElse(() => decodeURIComponent(text.replaceAll('+', ' ')), text);
