/** The ways in which a secret that was sent may come back. */

/** Embedded in longer base64, fewer characters than these would be found by chance. */
const SHORTEST_INSIDE = 6;

/** Itself, escaped for JSON (also twice and three times), URLs, HTML or a shell, misread as Latin-1, as hexadecimal, as base64. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const once = [
    secret,
    bytes.toString('latin1'),
    ...jsonForms(secret),
    quoted(quoted(secret)),
    quoted(quoted(quoted(secret))),
    ...urlForms(secret.toWellFormed()),
    ...htmlForms(secret),
  ];
  const shell = once.map((form) => form.replaceAll("'", `'\\''`));
  return [...once, ...shell, ...shell.map(quoted), hex, hex.toUpperCase(), ...base64Forms(bytes)].filter(
    (form) => form.length >= 4,
  );
}

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Encoders differ: some escape the slash, some what HTML would read as markup, some all that is not ASCII. */
function jsonForms(secret: string): string[] {
  const plain = quoted(secret);
  const slashed = plain.replaceAll('/', '\\/');
  const unicode = (text: string, which: RegExp): string =>
    text.replaceAll(which, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const ascii = unicode(plain, /[\u007f-\uffff]/g);
  const markup = [/[<>&]/g, /[<>&']/g].map((which) => unicode(plain, which));
  const upper = [ascii, ...markup].map((text) =>
    text.replaceAll(/\\u..../g, (code) => `\\u${code.slice(2).toUpperCase()}`),
  );
  return [
    plain,
    slashed,
    ascii,
    ascii.replaceAll('/', '\\/'),
    ...markup,
    ...markup.map((text) => unicode(text, /[\u007f-\uffff]/g)),
    ...upper,
  ];
}

/** Encoders differ in the characters that they leave alone, and in the case of their digits. */
function urlForms(secret: string): string[] {
  const loose = encodeURIComponent(secret);
  const strict = loose.replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams([['', secret]]).toString().slice(1);
  const all = [loose, strict, strict.replaceAll('%2F', '/'), encodeURI(secret), form, encodeURIComponent(loose)];
  return [...all, ...all.map((text) => text.replaceAll(/%../g, (code) => code.toLowerCase()))];
}

function htmlForms(secret: string): string[] {
  const base = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const double = base.replaceAll('"', '&quot;');
  const attribute = base.replaceAll('"', '&#34;').replaceAll("'", '&#39;');
  return [base, double, attribute, ...['&#39;', '&#x27;', '&apos;'].map((quote) => double.replaceAll("'", quote))];
}

/** Alone, and inside a longer text (`user:secret`), where the bytes before it decide which characters it becomes. */
function base64Forms(bytes: Buffer): string[] {
  const inside = [0, 2, 3].map((unsure, before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(unsure, Math.floor(((before + bytes.length) * 8) / 6)),
  );
  const forms = [bytes.toString('base64'), ...inside.filter((form) => form.length >= SHORTEST_INSIDE)];
  return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''))];
}
