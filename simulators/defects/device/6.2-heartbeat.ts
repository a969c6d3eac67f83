import { defect, onRestart, variant } from '../define-device.ts';

const HEARTBEAT = ['device.events.heartbeat'];
const INERT = ['device.events.heartbeat.inert'];

export const defects = [
  defect('heartbeat-none', 'Sends no heartbeat.', HEARTBEAT, { stream: { heartbeat: () => '' } }),
  defect('heartbeat-late', 'Reads the seconds between heartbeats as minutes.', HEARTBEAT, {
    stream: { heartbeatMs: (configured) => configured * 60 },
  }),
  defect('heartbeat-other-text', 'Sends comments that say ping.', HEARTBEAT, {
    stream: { heartbeat: () => ': ping\n\n' },
  }),
  defect('heartbeat-unfiltered-only', 'Sends heartbeats only to subscribers without a filter.', HEARTBEAT, () => {
    let filtered = false;
    return {
      stream: ({ parseTypes }) => ({
        parseTypes: (values) => {
          filtered = values.length > 0;
          return parseTypes(values);
        },
        heartbeatMs: (configured) => (filtered ? configured * 100 : configured),
      }),
    };
  }),
  defect(
    'heartbeat-none-after-replay',
    'Sends no heartbeat on a stream that began with a replay.',
    ['device.events.heartbeat.restart'],
    () => {
      let replays = false;
      return {
        stream: {
          session: ({ after, retained }) => {
            replays = after < retained.latest;
            return undefined;
          },
          heartbeatMs: (configured) => (replays ? configured * 100 : configured),
        },
      };
    },
  ),
  defect('heartbeat-ends-at-restart', 'Sends no heartbeats after a restart.', HEARTBEAT, () => {
    let restarted = false;
    return {
      log: onRestart(() => (restarted = true)),
      stream: ({ heartbeat }) => ({ heartbeat: (now) => (restarted ? '' : heartbeat(now)) }),
    };
  }),
  defect(
    'heartbeat-as-event',
    'Sends heartbeats as events.',
    ['device.events.heartbeat.inert', 'device.events.heartbeat'],
    { stream: { heartbeat: () => 'event: heartbeat\ndata: {}\n\n' } },
  ),
  defect(
    'heartbeat-clears-cursor',
    'Sends an empty id with each heartbeat, which clears the cursor of a client.',
    INERT,
    { stream: { heartbeat: () => ': heartbeat\nid:\n\n' } },
  ),
  defect('heartbeat-carries-id', 'Sends an id with each heartbeat, which moves the cursor of a client.', INERT, {
    stream: { heartbeat: ({ latest }) => `id: ${latest + 1}\n: heartbeat\n\n` },
  }),
  defect('closes-idle-streams', 'Ends a stream a little after its first heartbeat.', ['device.events.long-lived'], {
    stream: { lifetimeMs: (heartbeatMs) => heartbeatMs * 1.3 },
  }),
  defect(
    'heartbeat-at-open-only',
    'Sends a heartbeat when a stream opens, and no other.',
    ['device.events.heartbeat', 'device.events.long-lived.beside'],
    { stream: { heartbeatMs: () => 2 ** 31 - 1 } },
    // Names a check whose stream stays open for longer than the silence that counts as a finding.
    { beside: ['device.events.long-lived'] },
  ),
];

export const variants = [
  variant('silent-at-open', 'Sends no heartbeat when a stream opens.', { stream: { heartbeatAtOpen: false } }),
  variant('heartbeat-when-idle', 'Sends a heartbeat only when nothing else was sent for the interval.', () => {
    let interval = 0;
    return {
      stream: ({ heartbeat }) => ({
        heartbeatMs: (configured) => {
          interval = configured;
          return configured / 8;
        },
        heartbeat: (now) => (now.idleMs >= interval * 0.85 ? heartbeat(now) : ''),
        heartbeatAtOpen: false,
      }),
    };
  }),
  variant(
    'heartbeat-unspaced',
    'Writes the heartbeat without the space, and without an empty line after it; both are comments all the same.',
    { stream: { heartbeat: () => ':heartbeat\n' } },
  ),
  variant(
    'comments-between-heartbeats',
    'Sends other comments between its heartbeats: clients ignore comment lines.',
    () => {
      const times = 8;
      let tick = 1;
      return {
        stream: ({ heartbeat }) => ({
          heartbeatMs: (configured) => {
            tick = configured / times;
            return tick;
          },
          // Derives the turn from the time, because every stream would advance a shared counter.
          heartbeat: (now) => (Math.floor(performance.now() / tick) % times === 0 ? heartbeat(now) : ':keep-alive\n\n'),
        }),
      };
    },
  ),
];
