/** Masks secrets of known formats, and values behind names such as `password` in JSON, YAML, XML, forms and URLs. */

export const MASK = '***';

/** Endings that may follow the name of a secret, e.g. `-data` in `client-key-data`. */
const SUFFIX = '(?:[_-]?(?:value|hash|data|text|base64|confirmation))?';
const ENDINGS = [
  '(?:token|password|passwd|secret|credential|cookie)s?',
  'passphrase|passcode|jwt|otp|(?<![a-z])pass|pwd|psk|auth|authorization|signature(?:-\\d+)?|sess(?:ion)?[_-]?id',
  '(?:api|access|account|auth|client|encryption|master|private|secret|shared|signing|subscription)[_-]?key(?:_pem)?',
  '(?:access|activation|device|pairing|user|verification)[_-]?code',
]
  .map((ending) => `(?:${ending})${SUFFIX}`)
  .join('|');
const WHOLE_NAME = new RegExp(`^[\\w-]*(?:${ENDINGS})$`, 'i');

export const tellsSecret = (name: string): boolean => WHOLE_NAME.test(name);

/** Another option, or a placeholder such as `KEY` or `<key>`. */
const NO_VALUE = /^(?:-|<|[A-Z][A-Z_-]*\W*$)/;
export const isSecretOption = (name: string, value: string): boolean =>
  /^--(?!no-)/.test(name) && tellsSecret(name) && isSecretValue(value) && !NO_VALUE.test(value);

export const isShortWords = (text: string): boolean => text.length < 16 && /^[a-z]+(?:[-_. ][a-z]+)*$/i.test(text);

const FORMS = new RegExp(
  [
    '-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----[^]*?(?:-----END [A-Z0-9 ]{1,60}-----|$)',
    String.raw`\b(?:gh[opsu]_|ghr_|github_pat_|glpat-|xox[abeprs]-|npm_|hf_|sk_live_|sk-)[\w-]{16,}`,
    String.raw`:(?:\\*\/){2}(?:[^\s\/?#"'<>\\@]+@)+`,
    String.raw`\bbase64url\.bearer\.[\w.~-]+`,
  ].join('|'),
  'g',
);

/** Blanks and line ends between JSON tokens, plain or escaped, also across the `data` lines of an event. */
const GAP = String.raw`(?:[ \t]|(?:\r?\n|\\+r\\+n|\\+n)(?:data:)?)*`;

const BETWEEN = {
  /** As in `"password":` above `"x"`. */
  lines: String.raw`\\*["']${GAP}[:=]${GAP}(?=\\*["']|[{[\d-])`,
  /** As in `password: x`, `"password": "x"`, `password = 'x'`, and `name: password` above `value: x`. */
  assigned: String.raw`(?:\\*["'])?(?:,?(?:\s|\\+[nr])*(?:\\*["'])?value(?:\\*["'])?)?[ \t]*[:=][ \t]*`,
  /** As in `<password>x</password>` and `<entry key="password">x</entry>`. */
  element: String.raw`["']?(?:\s[^<>]{0,200})?>`,
  part: String.raw`"?(?<=\bname="?[\w.[\]-]{1,100}"?)(?:;.{0,500})?\r?\n(?:[\w-]{1,50}:.{0,500}\r?\n){0,5}\r?\n`,
  /** As in the path `/tokens/x`. */
  path: String.raw`\/`,
  /** As in `--password x` in a command line, and `"--password", "x"` in a list. */
  option: String.raw`(?<=(?:^|[\s"'])--[\w-]{1,60})(?:[ \t]+|\\*["']\s*,\s*(?=\\*["']))`,
  /** As in a line `password x`, which files such as .netrc contain. */
  spaced: String.raw`[ \t]+(?=[^\s:=]+[ \t]*(?:[\r\n]|$|(?:login|account|machine)\b))`,
} as const;
const NAMED = new RegExp(
  `(?:${ENDINGS})(?:${Object.entries(BETWEEN)
    .map(([kind, source]) => `(?<${kind}>${source})`)
    .join('|')})`,
  'gi',
);

interface Place {
  text: string;
  name: number;
  value: number;
}
type Found = { from: number; to: number; bare?: boolean } | undefined;

const FIND: { readonly [Kind in keyof typeof BETWEEN]: (place: Place) => Found } = {
  lines: assigned,
  assigned,
  element,
  part: (place) => upTo(/(?:[^\r\n]+|\r?\n(?!--))+/y, place),
  option,
  path: (place) => unlessPlain(upTo(/[^/?#\s"'<>\\{}]+/y, place), place),
  spaced,
};

export const withoutForms = (text: string): string =>
  text.replaceAll(FORMS, (found) => {
    if (!found.endsWith('@')) return MASK;
    const from = found.lastIndexOf('/') + 1;
    return isShortWords(found.slice(from, -1)) ? found : `${found.slice(0, from)}${MASK}@`;
  });

export function withoutNamed(text: string): string {
  let clean = '';
  let kept = 0;
  NAMED.lastIndex = 0;
  for (let match = NAMED.exec(text); match !== null; match = NAMED.exec(text)) {
    const place = { text, name: match.index, value: NAMED.lastIndex };
    const [kind] = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined) ?? [];
    const found = FIND[kind as keyof typeof BETWEEN](place);
    if (found === undefined || found.to <= found.from) continue;
    NAMED.lastIndex = found.to;
    if (text.startsWith(MASK, found.from)) continue;
    clean += text.slice(kept, found.from) + (found.bare === true ? `"${MASK}"` : MASK);
    kept = found.to;
  }
  return clean + text.slice(kept);
}

function upTo(pattern: RegExp, { text, value }: Place): Found {
  pattern.lastIndex = value;
  return pattern.test(text) ? { from: value, to: pattern.lastIndex } : undefined;
}

function unlessPlain(found: Found, { text }: Place): Found {
  const value = found === undefined ? '' : text.slice(found.from, found.to);
  return /^(?:\d{1,9}|[a-z]+(?:[-_. ][a-z]+)+)$/i.test(value) || isShortWords(value) ? undefined : found;
}

const LINE_OF_WORDS = /(?:^|[\r\n])[ \t]*(?:(?:(?:machine|login|account)[ \t]+\S+|default)[ \t]+)*$/;
function spaced(place: Place): Found {
  const before = place.text.slice(Math.max(0, place.name - LONGEST_BEFORE), place.name);
  return LINE_OF_WORDS.test(before) ? unlessPlain(upTo(/\S+/y, place), place) : undefined;
}

function option(place: Place): Found {
  const found = quoted(place) ?? upTo(/(?:[^\s"'\\\])},;]|\\(?![nrt"']))+/y, place);
  const value = found === undefined ? '' : place.text.slice(found.from, found.to);
  return isSecretOption('--token', value) && !isShortWords(value) ? found : undefined;
}

/** Masks an element only before a closing tag or a cut, because `<token>` may be a placeholder in a sentence. */
function element(place: Place): Found {
  const { text, value } = place;
  const found = upTo(/<!\[CDATA\[[\s\S]{0,8000}?\]\]>|[^<]{1,8000}/y, place);
  const isCut = found?.to === text.length && /[\w/+=-]/.test(text[value] ?? '');
  return isCut || (found !== undefined && text.startsWith('</', found.to)) ? found : undefined;
}

/** Value that holds no secret: null, a truth value, or a variable. */
const NOTHING = /(?:[Nn]ull|NULL|[Tt]rue|[Ff]alse|~|(?:Bearer )?\$\{?[A-Z][A-Z_]*\}?)(?![\w.-])/y;
const ONLY_NOTHING = new RegExp(`^(?:${NOTHING.source})?$`);
export const isSecretValue = (value: string): boolean => !ONLY_NOTHING.test(value);
const LINE = /(?:(^|[\n\r])|\\+[nr]|["'])([ \t]*(?:- +)*)(?:export +)?(?:\\*["'])?(?:\w[\w.-]*)?$/;
const ITEM = /\{(?:[^{}]*,)?\s*(?:\\*["'])?[\w.-]*$/;
const LONGEST_BEFORE = 120;
/** Heredoc of a shell, HCL or PHP, up to its end or the end of the text. */
const HEREDOC = /<<<?[-~]?["']?(\w+)["']?[ \t]*(?:\r?\n|\\[nr])[\s\S]*?(?:(?:\n|\\n)[ \t]*\1\b|$)/y;

function assigned(place: Place): Found {
  const { text, name, value } = place;
  const multiline = upTo(/("""|''')[\s\S]*?(?:\1|$)/y, place) ?? upTo(HEREDOC, place);
  if (multiline !== undefined) return multiline;
  const inQuotes = quoted(place);
  if (inQuotes !== undefined) return inQuotes;
  NOTHING.lastIndex = value;
  if (NOTHING.test(text)) return undefined;
  if (text[value] === '{' || text[value] === '[') return { from: value, to: endOfNested(text, value), bare: true };
  const before = text.slice(Math.max(0, name - LONGEST_BEFORE), name);
  const isQuoted = /["']/.test(text.slice(name, value));
  if (!isQuoted && AUTHORIZATION.test(text.slice(name, value + 'bearer '.length))) return undefined;
  return isQuoted ? afterQuoted(before, place) : afterPlain(before, place);
}

function quoted({ text, value }: Place): Found {
  const quote = /\\*["']/y;
  quote.lastIndex = value;
  const [opening] = quote.exec(text) ?? [];
  if (opening === undefined) return undefined;
  return { from: value + opening.length, to: endOfQuoted(text, value, opening) };
}

function afterQuoted(before: string, place: Place): Found {
  const number = upTo(/-?\d[\d.eE+-]*(?=\s*(?:[,}\]\\]|$))/y, place);
  if (number !== undefined) return { ...number, bare: true };
  const [, begin] = LINE.exec(before) ?? [];
  if (begin !== undefined) return upTo(/[^\r\n]+/y, place);
  const found = upTo(RUN, place);
  return ITEM.test(before) && found !== undefined ? { ...found, bare: true } : inSentence(found, place);
}

function afterPlain(before: string, place: Place): Found {
  const { text, name, value } = place;
  if (/[\r\n]|\\[nr]/.test(text.slice(name, value))) return upTo(/[^\r\n"\\]+/y, place);
  // Requires a space after a colon like YAML, because `tokens:write` is a scope and not a secret.
  const line = text[value - 1] === ':' && /\S/.test(text[value] ?? '') ? null : LINE.exec(before);
  if (line === null) return ITEM.test(before) ? upTo(RUN, place) : inSentence(upTo(RUN, place), place);
  const [, begin, indent = ''] = line;
  if (begin !== undefined) return { from: value, to: endOfLines(text, value, indent.length) };
  return upTo(/(?:[^\r\n"\\]+|\\+(?![nr"\\]))+/y, place);
}

const AUTHORIZATION = /^authorization: *(?:bearer|basic|none|missing)\b/i;
const RUN = /[^\s,;{}[\]"'<>&\\]+/y;
const inSentence = (found: Found, place: Place): Found =>
  found === undefined || found.to - found.from < 8 ? undefined : unlessPlain(found, place);

function endOfQuoted(text: string, at: number, opening: string): number {
  const quote = opening.at(-1) ?? '"';
  const level = opening.length - 1;
  for (let end = text.indexOf(quote, at + opening.length); end !== -1; end = text.indexOf(quote, end + 1)) {
    let slashes = 0;
    while (end - slashes > at + opening.length && text[end - slashes - 1] === '\\') slashes += 1;
    if (quote === "'" && text[end + 1] === quote) end += 1;
    else if (slashes % (2 * (level + 1)) === level) return end - level;
  }
  return text.length;
}

function endOfNested(text: string, at: number): number {
  const mark = /[{}[\]]|\\*["']/g;
  mark.lastIndex = at;
  let depth = 0;
  for (let match = mark.exec(text); match !== null; match = mark.exec(text)) {
    const [found] = match;
    if (found === '{' || found === '[') depth += 1;
    else if (found === '}' || found === ']') depth -= 1;
    else mark.lastIndex = endOfQuoted(text, match.index, found) + found.length;
    if (depth === 0) return mark.lastIndex;
  }
  return text.length;
}

function endOfLines(text: string, at: number, indent: number): number {
  const lines = /[^\r\n]*/y;
  lines.lastIndex = at;
  const [first = ''] = lines.exec(text) ?? [];
  if (!/^(?:[|>][+\d-]*[ \t]*)?(?:#.*)?$/.test(first)) return lines.lastIndex;
  const block = new RegExp(
    `(?:\\r?\\n(?:[ \\t]{${indent + 1}}[^\\r\\n]*|[ \\t]{${indent}}- [^\\r\\n]*|(?=\\r?\\n)))*`,
    'y',
  );
  block.lastIndex = lines.lastIndex;
  return block.test(text) ? block.lastIndex : lines.lastIndex;
}
