import { defect, variant } from '../define-platform.ts';

export const defects = [
  defect('yaml-refused', 'Refuses yaml content.', ['platform.config-instance.yaml'], ({ acceptsFormat }) => ({
    acceptsFormat: (format, version) => format !== 'yaml' && acceptsFormat(format, version),
  })),
  defect('yaml-becomes-json', 'Labels yaml content as json.', ['platform.config-instance.yaml'], {
    answer: (operation, { status, body }) => {
      const { content, ...rest } = body as { content?: object };
      const changed = operation.endsWith('ConfigInstance') && content !== undefined;
      return { status, body: changed ? { ...rest, content: { ...content, format: 'json' } } : body };
    },
  }),
];

export const variants = [
  variant('content-unchecked', 'Does not check content against its schema.', { validatesContent: false }),
];
