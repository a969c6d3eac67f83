/** Masks secrets in what the console shows: by the name they go under, by their form, and where they are known by their text. */

const MASK = '***';

/** Headers that carry a credential. */
const HEADERS = /^(?:x-api-key|(?:proxy-)?authorization|cookie|set-cookie)$/i;
/** Members, parameters and headers whose value is a secret. */
const NAME = String.raw`[\w-]*(?:token|password|passwd|secret|authorization|api[_-]?key|private_key(?:_pem)?)`;
const WHOLE_NAME = new RegExp(`^${NAME}$`, 'i');
/** In JSON that was cut, and so cannot be read. */
const MEMBER = new RegExp(String.raw`("${NAME}"\s*:\s*)(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^\s,}\]"[{]+)`, 'gis');
/** In JSON that is a string in JSON. */
const INNER_MEMBER = new RegExp(String.raw`(\\+"${NAME}\\+"\s*:\s*\\+").*?(\\+"|$)`, 'gis');
const JWT = /\beyJ[\w-]+\.[\w-]*(?:\.[\w-]*)?/g;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;
/** Shorter ones are masked only where they are a whole value: they may be words. */
const DISTINCT = 6;

/** Masks what is secret of itself, and the given secrets. */
export class Mask {
  readonly #whole: ReadonlySet<string>;
  readonly #forms: readonly string[];

  constructor(secrets: Iterable<string>) {
    this.#whole = new Set(secrets);
    this.#forms = [...this.#whole]
      .filter(({ length }) => length >= DISTINCT)
      .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
      .sort((one, other) => other.length - one.length);
  }

  header(name: string, value: string): string {
    return HEADERS.test(name) || WHOLE_NAME.test(name) ? MASK : this.text(value);
  }

  /** Path and query. */
  url(url: string): string {
    const [path = '', ...query] = url.split('?');
    if (query.length === 0) return this.text(path);
    const parameters = query.join('?').replaceAll(/([^&=]*)=([^&]*)/g, (_all, name: string, value: string) => {
      const secret = WHOLE_NAME.test(decoded(name)) || this.#whole.has(decoded(value));
      return `${name}=${secret ? MASK : value}`;
    });
    return this.text(`${path}?${parameters}`);
  }

  /** A body: JSON is masked member by member, unless it was cut. */
  body(text: string, cut: boolean): string {
    const value = cut ? undefined : parsed(text);
    if (value !== undefined) return this.text(JSON.stringify(this.#value(value)));
    return this.text(text.replaceAll(INNER_MEMBER, `$1${MASK}$2`).replaceAll(MEMBER, `$1"${MASK}"`));
  }

  text(text: string): string {
    let masked = this.#whole.has(text) ? MASK : text;
    for (const form of this.#forms) masked = masked.replaceAll(form, MASK);
    return masked.replaceAll(BEARER, `$1 ${MASK}`).replaceAll(JWT, MASK);
  }

  #value(value: unknown): unknown {
    if (typeof value === 'string') return this.#string(value);
    if (Array.isArray(value)) return value.map((each) => this.#value(each));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, WHOLE_NAME.test(name) ? MASK : this.#value(each)]),
    );
  }

  #string(value: string): string {
    if (this.#whole.has(value)) return MASK;
    const inner = /^\s*[[{]/.test(value) ? parsed(value) : undefined;
    if (inner === undefined) return this.text(value);
    const masked = JSON.stringify(this.#value(inner));
    // What holds no secret is shown as it was written.
    return masked === JSON.stringify(inner) ? this.text(value) : masked;
  }
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
