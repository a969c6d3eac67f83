import type { DeviceVariant } from './types.ts';

export const charsetNamed: DeviceVariant = {
  name: 'charset-named',
  side: 'device',
  summary: 'Names the charset with each content type.',
  behaviour: (right) => ({
    ...right,
    http: { ...right.http, jsonType: 'application/json; charset=utf-8' },
    stream: {
      ...right.stream,
      headers: { ...right.stream.headers, 'Content-Type': 'text/event-stream; charset=utf-8' },
    },
  }),
};
