/** Reads recordings (lines of JSON, first a head, then traffic) and HAR 1.2 of any tool. */
import { createReadStream } from 'node:fs';
import { isObject, jsonOf } from '../common/lenient.ts';
import { UsageError } from '../common/usage.ts';
import { isOneFile, readUserText, whyNot } from '../common/user-files.ts';
import { trafficOfHar } from './har-traffic.ts';
import type { RecordingHead } from './recording.ts';
import type { TakeTraffic, Traffic } from './traffic.ts';

/** Characters of a recording's line, so that an endless line does not fill the memory. */
const MOST_IN_LINE = 64 * 1024 * 1024;

/** Resolves with undefined for a file that is no recording. Throws UsageError for a pipe or an unreadable file. */
export async function recordingHead(path: string): Promise<RecordingHead | undefined> {
  if (!isOneFile(path)) throw new UsageError(`--replay ${path}: must be a file, as it is read more than once`);
  // Maximum bytes of a recording's first line; a longer line begins a file of another kind, such as HAR.
  for await (const line of linesOf(path, 64 * 1024)) return headIn(parsed(line));
  return undefined;
}

/** `origin` selects a server of a HAR. Throws UsageError with the file and the accepted formats. */
export async function replayTraffic(
  path: string,
  head: RecordingHead | undefined,
  take: TakeTraffic,
  origin?: string,
): Promise<{ lacks: string[] }> {
  return head === undefined ? replayHar(path, take, origin) : await replayLines(path, take);
}

async function replayLines(path: string, take: TakeTraffic): Promise<{ lacks: string[] }> {
  let strange = 0;
  let isTorn = false;
  let part = 0;
  for await (const line of linesOf(path)) {
    if (line.trim() === '') continue;
    const value = parsed(line);
    const traffic = trafficIn(value);
    isTorn = value === undefined;
    part ||= headIn(value)?.part ?? 0;
    if (traffic !== undefined) take(traffic);
    else if (headIn(value) === undefined) strange += 1;
  }
  const lines = strange - (isTorn ? 1 : 0);
  return {
    lacks: [
      ...(part > 1 ? [`it is part ${part} of a recording: what was under way when it began is not known`] : []),
      ...(lines > 0 ? [`lines in it that are no piece of traffic: ${lines}`] : []),
      ...(isTorn ? ['its last line is incomplete; the writer was probably killed'] : []),
    ],
  };
}

function replayHar(path: string, take: TakeTraffic, origin: string | undefined): { lacks: string[] } {
  const text = readUserText(`--replay ${path}`, path);
  const value = parsed(text);
  const result = trafficOfHar(value, take, origin);
  if (result !== undefined) return result;
  const shown = text.slice(0, 80);
  if (value === undefined && /^\uFEFF?\s*\{\s*"log"\s*:/.test(shown))
    throw new UsageError(`--replay ${path}: is HAR but incomplete JSON; the writer was probably killed`);
  throw new UsageError(
    `--replay ${path}: is neither a recording of \`muster watch\` nor HAR 1.2; it begins with ${JSON.stringify(shown)}`,
  );
}

async function* linesOf(path: string, most = Number.POSITIVE_INFINITY): AsyncGenerator<string> {
  const input = createReadStream(path, { encoding: 'utf8', end: most - 1 });
  let line = '';
  try {
    for await (const text of input as AsyncIterable<string>) {
      const [first = '', ...others] = text.split('\n');
      line += first;
      for (const next of others) {
        yield line;
        line = next;
      }
      if (line.length > MOST_IN_LINE) throw new Error(`a line has more than ${MOST_IN_LINE} characters`);
    }
  } catch (error) {
    throw new UsageError(`--replay ${path}: cannot be read (${whyNot(error)})`);
  } finally {
    input.destroy();
  }
  if (line !== '') yield line;
}

const parsed = (text: string): unknown => jsonOf(text.replace(/^\uFEFF/, ''));

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isMissingOr =
  (is: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || is(value);
const isPairs = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every((pair) => Array.isArray(pair) && pair.length === 2 && isText(pair[0]) && isText(pair[1]));
const isBody = (value: unknown): boolean =>
  isObject(value) &&
  isNumber(value['size']) &&
  isMissingOr(isText)(value['text']) &&
  isMissingOr((cut) => isObject(cut) && isText(cut['sha256']))(value['cut']);

const FORMS: { readonly [Kind in Traffic['kind']]: Readonly<Record<string, (value: unknown) => boolean>> } = {
  opened: { connection: isNumber },
  refused: { connection: isNumber, why: isText },
  request: { connection: isNumber, exchange: isNumber, method: isText, target: isText, headers: isPairs },
  asked: { exchange: isNumber, body: isMissingOr(isBody) },
  response: { exchange: isNumber, status: isNumber, headers: isPairs },
  frame: { exchange: isNumber, fields: isPairs },
  over: {
    exchange: isNumber,
    ended: (value) => ['whole', 'server', 'client', 'unseen'].some((each) => each === value),
    body: isMissingOr(isBody),
    torn: isMissingOr(isText),
  },
  closed: { connection: isNumber },
  lost: { connection: isNumber, why: isText },
};

function trafficIn(value: unknown): Traffic | undefined {
  if (!isObject(value) || !isNumber(value['at'])) return undefined;
  const form = Object.hasOwn(FORMS, String(value['kind'])) ? FORMS[value['kind'] as Traffic['kind']] : undefined;
  if (form === undefined || !Object.entries(form).every(([name, is]) => is(value[name]))) return undefined;
  return value as unknown as Traffic;
}

function headIn(value: unknown): RecordingHead | undefined {
  if (!isObject(value) || value['muster_watch'] !== 1) return undefined;
  const { api, way, base, address } = value;
  const isRight = (api === 'device' || api === 'platform') && isText(way) && isText(base) && isText(address);
  return isRight ? (value as unknown as RecordingHead) : undefined;
}
