/** The little XML that a report needs: attributes and text, safe whatever a target sent. */
import { printable } from './style.ts';

/** Characters that XML 1.0 cannot write at all are spelled out. */
export function xmlText(text: string): string {
  return printable(text.toWellFormed())
    .replaceAll(/[\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

export function xmlAttribute(text: string): string {
  return xmlText(text).replaceAll('"', '&quot;').replaceAll('\n', '&#10;').replaceAll('\t', '&#9;');
}

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
