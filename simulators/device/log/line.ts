/** Line of the log file: the JSON envelope (section 2.3 of the specification), and a checksum that reveals damage. */
import { crc32 } from 'node:zlib';

export interface EventDraft {
  type: string;
  data: object;
}

export interface StoredEvent {
  readonly id: number;
  readonly type: string;
  readonly json: string;
  /** True for a line without a checksum, which a person or an older version wrote. */
  readonly unsealed?: true;
}

const HEAD = '{"object":"event","id":';

export function eventLine(id: number, type: string, occurredAt: string, data: object): StoredEvent {
  const members = `"type":${JSON.stringify(type)},"occurred_at":${JSON.stringify(occurredAt)}`;
  return { id, type, json: `${HEAD}${id},${members},"data":${JSON.stringify(data)}}` };
}

const SUM = ',"sum":"';
const SUM_DIGITS = 8;
const SEAL_BYTES = SUM.length + SUM_DIGITS + 2;
const SEAL = /^,"sum":"([0-9a-f]{8})"\}$/;

export function sealed(lines: string): Buffer {
  const each = lines.split('\n').map((line) => {
    if (!line.endsWith('}')) return line;
    const sum = crc32(line).toString(16).padStart(SUM_DIGITS, '0');
    return `${line.slice(0, -1)}${SUM}${sum}"}`;
  });
  return Buffer.from(each.join('\n'));
}

export function unseal(line: string): string | undefined {
  const at = line.length - SEAL_BYTES;
  const [, sum] = SEAL.exec(line.slice(at)) ?? [];
  const json = `${line.slice(0, at)}}`;
  return sum !== undefined && crc32(json) === Number.parseInt(sum, 16) ? json : undefined;
}

const HEADS = [HEAD, '{"id":'].map((text) => Buffer.from(text));

/** Event of one line, even behind the rest of a torn event; undefined for a damaged line. */
export function readLine(bytes: Buffer, start: number, end: number): StoredEvent | undefined {
  const at = end - SEAL_BYTES;
  const [, sum] = at > start ? (SEAL.exec(bytes.toString('latin1', at, end)) ?? []) : [];
  if (sum === undefined) return unsealed(bytes.toString('utf8', start, end));
  const whole = sealedEvent(bytes, start, at, sum);
  if (whole) return whole;
  for (const head of HEADS) {
    const again = bytes.subarray(start, at).lastIndexOf(head);
    const event = again > 0 ? sealedEvent(bytes, start + again, at, sum) : undefined;
    if (event) return event;
  }
  return undefined;
}

const BEGINNING = /^\{(?:"object":"event",)?"id":(\d{1,16}),"type":"([\w.-]+)",/;

function sealedEvent(bytes: Buffer, start: number, at: number, sum: string): StoredEvent | undefined {
  if (crc32('}', crc32(bytes.subarray(start, at))) !== Number.parseInt(sum, 16)) return undefined;
  const json = `${bytes.toString('utf8', start, at)}}`;
  const [, id, type] = BEGINNING.exec(json) ?? [];
  return id !== undefined && type !== undefined ? { id: Number(id), type, json } : parsed(json);
}

const MEMBERS = ['object', 'id', 'type', 'occurred_at', 'data'];

/** Event of a line without a checksum; undefined if a member is unknown, which may be a damaged checksum. */
function unsealed(text: string): StoredEvent | undefined {
  const event = parsed(text);
  if (event === undefined) return undefined;
  const ours = Object.keys(JSON.parse(text) as object).every((member) => MEMBERS.includes(member));
  return ours ? { ...event, unsealed: true } : undefined;
}

function parsed(json: string): StoredEvent | undefined {
  try {
    const { id, type, data } = JSON.parse(json) as Record<string, unknown>;
    const whole = Number.isSafeInteger(id) && typeof type === 'string' && typeof data === 'object';
    return whole ? { id: id as number, type, json } : undefined;
  } catch {
    return undefined;
  }
}
