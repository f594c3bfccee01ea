/** The code of the error with which work ends; 'nothing' where it does not. */
export const codeOf = (work) =>
  work().then(
    () => 'nothing',
    (error) => error.code,
  );
