import { defect, variant } from '../define-platform.ts';

export const defects = [
  defect('yaml-refused', 'Refuses yaml content.', ['platform.config-instance.yaml'], ({ acceptsFormat }) => ({
    acceptsFormat: (format, version) => format !== 'yaml' && acceptsFormat(format, version),
  })),
];

export const variants = [
  variant('content-unchecked', 'Does not check content against its schema.', { validatesContent: false }),
];
