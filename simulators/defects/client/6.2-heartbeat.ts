/** Defects of clients that treat a heartbeat as an event, or ignore missing heartbeats. */
import { defect, variant } from '../define-client.ts';

export const defects = [
  defect('heartbeat-clears-cursor', 'Forgets its cursor at a heartbeat.', ['client.heartbeat.cursor'], () => {
    let beaten = false;
    return {
      stream: ({ field }) => ({
        field: (line) => {
          const found = field(line);
          beaten = found === undefined;
          return found;
        },
      }),
      follow: ({ request }) => ({
        request: (path, cursor) => request(path, beaten ? undefined : cursor),
      }),
    };
  }),
  defect('heartbeat-moves-cursor', 'Counts a heartbeat as an event.', ['client.heartbeat.cursor'], () => {
    let beats = 0n;
    return {
      stream: ({ field }) => ({
        field: (line) => {
          const found = field(line);
          if (found === undefined) beats += 1n;
          return found;
        },
      }),
      follow: ({ request }) => ({
        request: (path, cursor) => request(path, cursor === undefined ? undefined : String(BigInt(cursor) + beats)),
      }),
    };
  }),
  defect('waits-forever', 'Waits on a silent connection for ever.', ['client.heartbeat.silence'], {
    follow: { silenceMs: () => undefined },
  }),
];

export const variants = [
  variant('patient-with-silence', 'Waits for ten heartbeats.', {
    follow: { silenceMs: (seconds) => 10 * seconds * 1000 },
  }),
];
