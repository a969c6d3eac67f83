/** The little XML that a report needs: elements with attributes and text, safe whatever a target sent. */
import { escapeAttribute, escapeText } from '../common/html.ts';
import { printable } from '../common/terminal.ts';

/** Escaped text. Characters that XML 1.0 cannot write at all are spelled out. */
export const xmlText = (text: string): string => escapeText(writable(text));

/** The same for an attribute, where a parser would turn line breaks into spaces. */
export const xmlAttribute = (text: string): string =>
  escapeAttribute(writable(text)).replaceAll('\n', '&#10;').replaceAll('\t', '&#9;');

const writable = (text: string): string => printable(text.toWellFormed()).replaceAll(/[\ufffe\uffff]/g, '\ufffd');

type Attributes = Record<string, string | number | undefined>;

/** An element on lines of its own; text content is kept on the line of its tags. */
export function element(name: string, attributes: Attributes, content: readonly string[] | string = []): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${xmlAttribute(String(value))}"`)
    .join('');
  if (typeof content === 'string') return `<${name}${written}>${xmlText(content)}</${name}>`;
  if (content.length === 0) return `<${name}${written}/>`;
  const inner = content.map((line) => line.replaceAll(/^(?=\s*<)/gm, '  ')).join('\n');
  return `<${name}${written}>\n${inner}\n</${name}>`;
}
