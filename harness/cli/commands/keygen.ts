import process from 'node:process';
import { generateKey } from '../../reports/certificate/envelope.ts';
import { command, OPTION } from '../options.ts';

export const keygen = command({
  options: {
    file: OPTION.file('Where the private key goes; never overwritten', { positional: true, required: true }),
  },
  examples: [['muster keygen muster.pem', 'then: muster check … --certificate c.json --key muster.pem']],
  run({ file }) {
    const { keyId, publicFile } = generateKey(file);
    process.stdout.write(
      `${file}      private: keep it secret, sign with --key ${file}\n${publicFile}  public: give it to those ` +
        `who verify\nkey id ${keyId}\n`,
    );
    return 0;
  },
});
