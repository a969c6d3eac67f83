import type { DeviceDefect } from './types.ts';

export const newlinesRaw: DeviceDefect = {
  name: 'newlines-raw',
  side: 'device',
  summary: 'Writes line breaks of a text into the stream as they are.',
  breaks: ['device.events.framing-safe'],
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => right.stream.frame({ ...event, json: event.json.replaceAll('\\n', '\n') }),
    },
  }),
};
