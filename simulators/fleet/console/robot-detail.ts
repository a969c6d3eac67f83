/** Looks at one robot: through its Device API, and at the end of its event log. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { http } from '../../../harness/common/node-http.ts';
import { DEVICE_API_PREFIX } from '../../../harness/contract/versions.ts';
import type { RobotDetail } from '../../console/page/fleet/document.ts';
import type { FleetLayout } from '../run/fleet-layout.ts';

const LOG = 'events.jsonl';
/** Bytes at the end of the log that are read. */
const TAIL_BYTES = 32_768;
/** Events that are shown. */
const EVENTS = 50;
const PATIENCE_MS = 2_000;

/** Throws RangeError when there is no such robot. */
export async function robotDetail(layout: FleetLayout, index: number): Promise<RobotDetail> {
  const socket = layout.robotSocket(index);
  const answer = await ask(socket, `${DEVICE_API_PREFIX}/deployments/current`);
  return {
    name: layout.robotName(index),
    socket,
    up: answer !== undefined,
    deployment: answer?.status === 200 ? (JSON.parse(answer.text) as Record<string, unknown>) : null,
    events: tailOf(join(layout.robotDir(index), LOG)),
  };
}

function ask(socketPath: string, path: string): Promise<{ status: number; text: string } | undefined> {
  return new Promise((resolve) => {
    const request = http.get({ socketPath, path, agent: false, timeout: PATIENCE_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('error', () => resolve(undefined));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.once('timeout', () => request.destroy(new Error('no answer')));
    // One that is down has no socket.
    request.once('error', () => resolve(undefined));
  });
}

/** The last events of a log; none when there is no log yet. */
function tailOf(path: string): RobotDetail['events'] {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return [];
  }
  try {
    const { size } = fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    const lines = buffer.toString().split('\n').filter(Boolean);
    return lines.flatMap(eventIn).slice(-EVENTS);
  } finally {
    closeSync(fd);
  }
}

function eventIn(line: string): RobotDetail['events'] {
  try {
    const { id, type, occurred_at: at, data } = JSON.parse(line) as Record<string, unknown>;
    const { deployment_id: deployment = '' } = data as Record<string, unknown>;
    return [{ id: Number(id), type: String(type), at: String(at), deployment: String(deployment) }];
  } catch {
    // The first line may be cut off, and the last one is not whole yet.
    return [];
  }
}
