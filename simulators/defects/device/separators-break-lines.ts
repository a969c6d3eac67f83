import type { DeviceDefect } from './types.ts';

export const separatorsBreakLines: DeviceDefect = {
  name: 'separators-break-lines',
  side: 'device',
  summary: 'Ends a line at U+2028, as some text libraries do.',
  breaks: ['device.events.framing-safe'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => right.stream.frame({ ...event, json: event.json.replaceAll('\u2028', '\n') }),
    },
  }),
};
