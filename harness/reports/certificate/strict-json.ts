/** JSON in which no object has two members of one name: of those, readers take different ones. */

/** Like `JSON.parse`. Throws SyntaxError, also for a name that an object has twice. */
export function parseStrict(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const twice = repeatedName(text);
  if (twice !== undefined) throw new SyntaxError(`an object has ${JSON.stringify(twice)} twice`);
  return value;
}

/** In text that is JSON, a name that one object has twice. */
function repeatedName(text: string): string | undefined {
  /** The names so far of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  let nameIsNext = false;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]/g)) {
    const names = open.at(-1);
    if (token === '{' || token === '[') {
      open.push(token === '{' ? new Set() : undefined);
      nameIsNext = token === '{';
    } else if (token === '}' || token === ']') {
      open.pop();
      nameIsNext = false;
    } else if (token === ',') nameIsNext = names !== undefined;
    else if (nameIsNext && names !== undefined) {
      const name = JSON.parse(token) as string;
      if (names.has(name)) return name;
      names.add(name);
      nameIsNext = false;
    }
  }
  return undefined;
}
