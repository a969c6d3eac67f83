/** Secrets that were given to this run; whatever is recorded, logged or reported passes through here. */

const MASK = '***';
const SECRET_HEADERS = new Set(['authorization', 'x-api-key', 'cookie', 'set-cookie', 'proxy-authorization']);

export class Redactor {
  readonly #secrets = new Set<string>();

  /** Registers a secret; also in the encodings in which it may appear. Text of fewer than 4 characters can't be told from other text. */
  add(secret: string | undefined): void {
    if (secret === undefined || secret.length < 4) return;
    for (const form of formsOf(secret)) {
      this.#secrets.add(form);
    }
  }

  text(text: string): string {
    let clean = text;
    for (const secret of [...this.#secrets].sort((a, b) => b.length - a.length)) clean = clean.replaceAll(secret, MASK);
    return clean;
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
}

/** The ways in which what was sent may come back: URL- or base64-encoded, as a JSON string in a JSON string, quoted for a shell. */
function formsOf(secret: string): string[] {
  const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);
  const base64 = Buffer.from(secret).toString('base64');
  const once = [
    secret,
    encodeURIComponent(secret),
    quoted(secret),
    quoted(quoted(secret)),
    quoted(quoted(quoted(secret))),
  ];
  const shell = once.map((form) => form.replaceAll("'", `'\\''`));
  const encoded = [base64, base64.replace(/=+$/, ''), Buffer.from(secret).toString('base64url')];
  return [...once, ...shell, ...shell.map(quoted), ...encoded];
}
