/** Fuzzes the function by which the device suite reads event log files, with damaged files. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { Device } from '../../../suites/device/support/check.ts';
import { readLog, storesEvent } from '../../../suites/device/support/disk.ts';
import { Session } from '../../runner/session.ts';
import { hostFiles } from '../../targets/files/target-files.ts';
import { anyBytes, bytesOf, type Damage, damagesFrom, type Fuzzer, utf8, weighed, withDamages } from './fuzzer.ts';

interface LinesInput {
  /** Oldest first; several files form a folder of segments. */
  files: string[];
  damages: Damage[];
  id: number;
}

const eventLine = (id: number): string => `{"object":"event","id":${id},"type":"x","data":{}}`;
const fileLine = fc.oneof(
  { weight: 6, arbitrary: fc.nat(99).map(eventLine) },
  { weight: 2, arbitrary: fc.json({ maxDepth: 4 }).map(utf8) },
  weighed(1, '¦[]¦7¦"7"¦{"id":"7"}¦{"a":[{"b":7}]}¦{"__proto__":7}¦null'),
  { weight: 1, arbitrary: fc.nat(20_000).map((depth) => `${'['.repeat(depth)}7${']'.repeat(depth)}`) },
  { weight: 1, arbitrary: anyBytes(20) },
);

async function attackReader(path: string, { files, damages, id }: LinesInput): Promise<string | undefined> {
  rmSync(path, { recursive: true, force: true });
  const written = files.map((text, index) => (index === files.length - 1 ? withDamages(text, damages) : text));
  if (written.length > 1) mkdirSync(path);
  const nameOf = (index: number): string => (written.length > 1 ? join(path, `${index + 1}.jsonl`) : path);
  for (const [index, text] of written.entries()) writeFileSync(nameOf(index), bytesOf(text));
  const target = { info: { event_log: path }, files: hostFiles, session: new Session() } as unknown as Device;
  const { lines } = await readLog(target);
  const texts = written.map((text) => bytesOf(text).toString('utf8')).filter((text) => text !== '');
  const expected = texts.flatMap((text) => text.replaceAll(/^\n|\n$/g, '').split('\n'));
  if (texts.at(-1)?.endsWith('\n') === false && !isJson(expected.at(-1) ?? '')) expected.pop();
  if (lines.map(({ text }) => text).join('\n') !== expected.join('\n')) return 'the reader gives other lines';
  for (const found of lines) {
    if (found.json !== isJson(found.text)) return 'a line is taken for JSON, or is not';
    // Only undamaged lines, because damage may join two lines into JSON with two ids.
    if (found.text === eventLine(id) && !storesEvent(found, BigInt(id))) return 'an event is not found in its line';
  }
  return undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const logLines: Fuzzer<LinesInput> = {
  inputs: fc.record({
    files: fc.array(
      fc.array(fileLine, { maxLength: 12 }).map((lines) => lines.map((text) => `${text}\n`).join('')),
      { minLength: 1, maxLength: 3 },
    ),
    damages: fc.array(damagesFrom(['\n', '\r\n', '\0', '{', '7', '\u00ef\u00bb\u00bf']), { maxLength: 3 }),
    id: fc.nat(99),
  }),
  open: async () => {
    const home = scratch();
    return {
      attack: (input) => attackReader(join(home.path, 'log'), input),
      [Symbol.asyncDispose]: async () => home[Symbol.dispose](),
    };
  },
};
