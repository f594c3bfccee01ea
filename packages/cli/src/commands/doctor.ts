import { Command } from 'commander';
import { CliError } from '../cli-error.js';
import { examine } from '../doctor/examine.js';
import { renderExamination } from '../doctor/render.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

interface DoctorOptions extends CommonOptions {
  readonly attempts?: boolean;
}

/** `mercer doctor`: what this machine can run, and what to install for the rest. */
export function doctorCommand(): Command {
  return withCommonOptions(
    new Command('doctor').option(
      '--attempts',
      'list every place where a library or compiler was looked for',
    ),
  ).action(
    action(async (output, options: DoctorOptions) => {
      output.progress.update('looking at libraries, devices and compilers');
      process.env['NODE_NO_WARNINGS'] = '1'; // this command says itself what is missing
      const found = await examine();
      output.result(found, () => renderExamination(found, output, options.attempts === true));
      if (found.backends.some((backend) => backend.works)) return;
      throw new CliError(
        'NO_BACKEND',
        `Cannot compute on this machine: no device works. ${found.advice[0]?.command ?? 'See the errors above'}.`,
      );
    }),
  );
}
