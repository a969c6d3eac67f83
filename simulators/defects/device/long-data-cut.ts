import type { DeviceDefect } from './types.ts';

export const longDataCut: DeviceDefect = {
  name: 'long-data-cut',
  side: 'device',
  summary: 'Cuts data off after 16 KiB.',
  breaks: ['device.events.framing-safe'],
  behaviour: (right) => ({
    ...right,
    stream: { ...right.stream, frame: (event) => right.stream.frame({ ...event, json: event.json.slice(0, 16_384) }) },
  }),
};
