import type { DeviceVariant } from './types.ts';

export const dataInLines: DeviceVariant = {
  name: 'data-in-lines',
  side: 'device',
  summary: 'Writes the envelope over several data lines, which a client joins.',
  behaviour: (right) => ({
    ...right,
    stream: {
      ...right.stream,
      frame: (event) => {
        const data = JSON.stringify(JSON.parse(event.json), null, 2).split('\n');
        return `id: ${event.id}\nevent: ${event.type}\n${data.map((line) => `data: ${line}\n`).join('')}\n`;
      },
    },
  }),
};
