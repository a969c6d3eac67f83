import type { DeviceDefect } from './types.ts';

export const filesAsciiOnly: DeviceDefect = {
  name: 'files-ascii-only',
  side: 'device',
  summary: 'Writes a question mark into config files for everything beyond ASCII.',
  breaks: ['device.events.written-first'],
  behaviour: (right) => ({
    ...right,
    deployments: {
      ...right.deployments,
      files: (files) =>
        files.map(({ filepath, content }) => ({
          filepath,
          content: Buffer.from(
            Buffer.from(content)
              .toString('utf8')
              .replaceAll(/[^\0-\x7f]/gu, '?'),
          ),
        })),
    },
  }),
};
