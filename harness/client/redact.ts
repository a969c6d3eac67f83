/** Secrets that were given to this run; whatever is recorded, logged or reported passes through here. */
import { formsOf } from './secret-forms.ts';

const MASK = '***';
const SECRET_HEADERS = new Set(['authorization', 'x-api-key', 'cookie', 'set-cookie', 'proxy-authorization']);
/** Shorter text can't be told from other text. */
const SHORTEST = 4;
/** So much of the beginning of a secret is masked wherever it stands: somebody may have cut the text that held it. */
const HEAD = 8;

export class Redactor {
  readonly #variables = new Map<string, string>();
  /** Longest first, so that no form takes the beginning of a longer one away. */
  #forms: readonly string[] = [];
  #heads: RegExp | undefined;

  /**
   * Registers a secret; also in the encodings in which it may appear. One of fewer than 4 characters is left alone. `variable`: what
   * holds it in the environment of whoever repeats a request.
   */
  add(secret: string | undefined, variable?: string): void {
    if (secret === undefined || secret === '') return;
    if (variable !== undefined) this.#variables.set(secret, variable);
    const partial = secret.length < HEAD && this.#forms.some((form) => form !== secret && form.startsWith(secret));
    if (secret.length < SHORTEST || partial) return;
    // A private key may come back line by line.
    const lines = secret.split(/\r?\n/).filter((line) => line.length >= 16 && !line.startsWith('-----'));
    const known = new Set(this.#forms);
    for (const part of [secret, ...lines]) for (const form of formsOf(part)) known.add(form);
    this.#forms = [...known].sort((a, b) => b.length - a.length);
    const heads = new Set(this.#forms.flatMap((form) => headOf(form) ?? []));
    this.#heads =
      heads.size === 0
        ? undefined
        : new RegExp([...heads].map((head) => head.replaceAll(/\W/g, literal)).join('|'), 'g');
  }

  /** The variable that holds this very secret. */
  variable(secret: string): string | undefined {
    return this.#variables.get(secret);
  }

  text(text: string): string {
    let clean = text;
    for (const form of this.#forms) clean = clean.replaceAll(form, MASK);
    return this.#marked(this.#partly(clean));
  }

  /**
   * The first `limit` characters, redacted before they are cut off, so that no secret is cut in two. `ended: false` tells that the
   * text itself stops somewhere, as that of a dropped connection does.
   */
  excerpt(text: string, limit: number, { ended = true }: { ended?: boolean } = {}): string {
    const reach = limit * 2 + (this.#forms[0]?.length ?? 0);
    const whole = text.length <= reach;
    const clean = this.text(whole ? text : text.slice(0, reach));
    const closed = whole && ended ? clean : this.#withoutStart(clean);
    return whole && closed.length <= limit ? closed : `${closed.slice(0, limit)}… (${text.length} characters)`;
  }

  /** Masks the headers that carry credentials, and known secrets in all others. */
  headers(headers: Record<string, string>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        SECRET_HEADERS.has(name.toLowerCase()) ? MASK : this.text(value),
      ]),
    );
  }

  /** Deep: every string in a JSON value, keys included. */
  value<T>(value: T): T {
    if (typeof value === 'string') return this.text(value) as T;
    if (Array.isArray(value)) return value.map((item) => this.value(item)) as T;
    if (value !== null && typeof value === 'object') {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.text(key), this.value(item)])) as T;
    }
    return value;
  }

  /** The beginning of a secret, as far as it goes. */
  #partly(text: string): string {
    if (this.#heads === undefined) return text;
    let clean = '';
    let from = 0;
    for (const { index } of text.matchAll(this.#heads)) {
      if (index < from) continue;
      clean += text.slice(from, index) + MASK;
      from = index + Math.max(...this.#forms.map((form) => shared(form, text, index)));
    }
    return clean + text.slice(from);
  }

  /** What is left of a secret before or after the mark of a cut. */
  #marked(text: string): string {
    if (!text.includes('…')) return text;
    const parts = text.split('…');
    return parts
      .map((part, index) => (index < parts.length - 1 ? this.#withoutStart(part) : part))
      .map((part, index) => (index > 0 ? this.#withoutEnd(part) : part))
      .join('…');
  }

  #withoutStart(text: string): string {
    // A cut may go through a character too.
    const end = text.endsWith('\ufffd') ? text.slice(0, -1) : text;
    const left = Math.max(0, ...this.#forms.map((form) => overlap(form, (start) => end.endsWith(start), 'start')));
    return left === 0 ? text : end.slice(0, end.length - left) + MASK;
  }

  #withoutEnd(text: string): string {
    const left = Math.max(0, ...this.#forms.map((form) => overlap(form, (end) => text.startsWith(end), 'end')));
    return left === 0 ? text : MASK + text.slice(left);
  }
}

/** Node 22 has no RegExp.escape. */
const literal = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Enough of the beginning to tell it from other words: up to what no word has in it, or most of it. */
function headOf(form: string): string | undefined {
  const telling = form.search(/[^a-z._-]/);
  const length = Math.max(HEAD, telling === -1 ? Math.max(12, Math.ceil(form.length * 0.75)) : telling + 1);
  return length < form.length ? form.slice(0, length) : undefined;
}

/** How many characters of `form` stand at `index`, none unless its head does. */
function shared(form: string, text: string, index: number): number {
  const head = headOf(form);
  if (head === undefined || !text.startsWith(head, index)) return 0;
  let length = head.length;
  while (length < form.length && form[length] === text[index + length]) length += 1;
  return length;
}

/** Length of the longest beginning or end of `form` that fits, of those that can be told from other text. */
function overlap(form: string, fits: (part: string) => boolean, side: 'start' | 'end'): number {
  for (let length = form.length - 1; length >= SHORTEST; length -= 1) {
    if (fits(side === 'start' ? form.slice(0, length) : form.slice(-length))) return length;
  }
  return 0;
}
