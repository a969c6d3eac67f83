import { defect, keepsFirstNames } from '../define-platform.ts';

const FIELDS = ['platform.robust.fields'];

export const defects = [
  defect('null-within-fails', 'Fails on a null within a list or an object.', FIELDS, ({ bodyProblems }) => ({
    bodyProblems: (operation, value, check) => {
      const inner = Object.values((value ?? {}) as object).flatMap((each) => Object.values(each ?? {}));
      if (inner.includes(null)) throw new TypeError('nobody expected a null here');
      return bodyProblems(operation, value, check);
    },
  })),
  defect(
    'device-rename-lost',
    'Answers a renaming of a device with the new name, and keeps the old one.',
    FIELDS,
    keepsFirstNames('createDevice', 'getDevice'),
  ),
];
