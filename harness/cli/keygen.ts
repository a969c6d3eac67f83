import process from 'node:process';
import type { CommandModule } from 'yargs';
import { generateKey } from '../reports/certificate/keys.ts';

export const keygen: CommandModule<object, { file: string }> = {
  builder: (argv) =>
    argv
      .positional('file', {
        type: 'string',
        describe: 'Where the private key goes; never overwritten',
        demandOption: true,
      })
      .example('$0 keygen muster.pem', 'then: muster check … --certificate c.json --key muster.pem') as never,
  handler: ({ file }) => {
    const { keyId, publicFile } = generateKey(file);
    process.stdout.write(
      `${file}      private: keep it secret, sign with --key ${file}\n${publicFile}  public: give it to those who verify\nkey id ${keyId}\n`,
    );
  },
};
