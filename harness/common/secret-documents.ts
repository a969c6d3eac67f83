/** Masks values of secret names in parsed YAML and XML; patterns mask all other texts. */
import { type Document, isAlias, isNode, isScalar, parseAllDocuments, visit } from 'yaml';
import { orElse } from './lenient.ts';
import { isSecretOption, isSecretValue, MASK, tellsSecret } from './secret-names.ts';

interface Found {
  from: number;
  to: number;
}

/** A text that is neither XML nor a map or list of YAML stays unchanged. */
export function withoutSecretsIn(text: string): string {
  // Leaves longer texts to the patterns.
  if (text.length > 64 * 1024) return text;
  const found = /^\s*<[\w?!]/.test(text) ? inXml(text) : /\S\s*\n|^[\s\ufeff]*[[{]/.test(text) ? inYaml(text) : [];
  let clean = '';
  let kept = 0;
  for (const { from, to } of found.toSorted((a, b) => a.from - b.from)) {
    if (from < kept || to <= from || text.startsWith(MASK, from)) continue;
    clean += text.slice(kept, from) + MASK;
    kept = to;
  }
  return clean + text.slice(kept);
}

const PARTS = { name: /^(?:name|key|variable)$/i, value: /^value$/i, kind: /^kind$/i, data: /^(?:stringData|data)$/ };

function inYaml(text: string): Found[] {
  const options = { uniqueKeys: false, logLevel: 'silent', prettyErrors: false } as const;
  // Deep text exhausts the stack, because the parser nests calls.
  const parsed = orElse(() => parseAllDocuments(text, options), []);
  const documents: readonly Document.Parsed[] = Array.isArray(parsed) ? parsed : [];
  if (documents.some(({ errors }) => errors.length > 0)) return [];
  return documents.flatMap((document) => inDocument(document, text));
}

function inDocument(document: Document.Parsed, text: string): Found[] {
  const found: Found[] = [];
  // Resolves all aliases in one pass, because each `resolve` would search the whole document.
  const anchors = new Map<string, unknown>();
  const targets = new Map<unknown, unknown>();
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node)) targets.set(node, anchors.get(node.source));
      else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  const mask = (node: unknown): void => {
    const meant = isAlias(node) ? targets.get(node) : node;
    if (!isNode(meant) || !meant.range || (isScalar(meant) && !isSecretValue(wordOf(meant)))) return;
    const [from, to] = meant.range;
    found.push({ from, to: from + text.slice(from, to).trimEnd().length });
  };
  visit(document, {
    Map: (_, { items }) => {
      const valueAt = (name: RegExp): unknown => items.find(({ key }) => name.test(wordOf(key)))?.value;
      if (tellsSecret(wordOf(valueAt(PARTS.name)))) mask(valueAt(PARTS.value));
      if (wordOf(valueAt(PARTS.kind)) === 'Secret') mask(valueAt(PARTS.data));
      for (const { key, value } of items) if (tellsSecret(wordOf(key))) mask(value);
    },
    Seq: (_, { items }) => {
      for (const [at, item] of items.entries()) if (isSecretOption(wordOf(items[at - 1]), wordOf(item))) mask(item);
    },
  });
  return found;
}

const wordOf = (node: unknown): string => (isScalar(node) ? String(node.value ?? '') : '');

const XML_TOKEN = new RegExp(
  [
    '<!--[^]*?(?:-->|$)',
    String.raw`<!\[CDATA\[(?<cdata>[^]*?)(?:\]\]>|$)`,
    String.raw`<(?<close>\/?)(?<name>[\w:.-]+)(?<rest>(?![\w:.-])[^<>]*)>`,
    '(?<text>[^<]+)',
  ].join('|'),
  'g',
);
const ATTRIBUTE = /(?<![\w:.-])([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

interface Element {
  isSecret: boolean;
  /** True if the next child is the value of a secret, as in `<key>password</key><string>…`. */
  isNextSecret: boolean;
}

function inXml(text: string): Found[] {
  const found: Found[] = [];
  const open: Element[] = [{ isSecret: false, isNextSecret: false }];
  let words = '';
  const mask = (from: number, part: string): void => {
    const begin = from + part.length - part.trimStart().length;
    if (isSecretValue(part.trim())) found.push({ from: begin, to: begin + part.trim().length });
  };
  for (const { index, 0: token, groups } of text.matchAll(XML_TOKEN)) {
    const { cdata, close, name, rest = '', text: plain } = groups ?? {};
    const around = open.at(-1) as Element;
    const content = cdata ?? plain;
    if (content !== undefined) {
      words += content.trim();
      if (around.isSecret) mask(cdata === undefined ? index : index + '<![CDATA['.length, content);
    } else if (name !== undefined && close === '/') {
      if (open.length > 1) open.pop();
      const parent = open.at(-1) as Element;
      parent.isNextSecret = PARTS.name.test(name) && tellsSecret(words);
      words = '';
    } else if (name !== undefined) {
      const isWithin = around.isSecret || around.isNextSecret;
      const isNamed = attributesIn(rest, index + token.length - rest.length - 1, isWithin, mask);
      const isSecret = isWithin || tellsSecret(name) || isNamed;
      around.isNextSecret = false;
      words = '';
      if (!rest.endsWith('/')) open.push({ isSecret, isNextSecret: false });
    }
  }
  return found;
}

/**
 * Masks all attributes of an element within a secret, and only secret attributes of other elements. Returns true if an
 * attribute makes the content of its element a secret.
 */
function attributesIn(
  rest: string,
  at: number,
  isWithin: boolean,
  mask: (from: number, part: string) => void,
): boolean {
  const attributes = [...rest.matchAll(ATTRIBUTE)].map(({ index, 0: all, 1: name = '', 2: double, 3: single }) => {
    const value = double ?? single ?? '';
    return { name, value, from: at + index + all.length - value.length - 1 };
  });
  const isNamed = attributes.some(({ name, value }) => PARTS.name.test(name) && tellsSecret(value));
  for (const { name, value, from } of attributes)
    if (isWithin || tellsSecret(name) || (isNamed && PARTS.value.test(name))) mask(from, value);
  return isNamed;
}
