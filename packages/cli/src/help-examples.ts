/** Examples of every command, for its help: what stands behind `mercer `, and if wanted what it does. */
export const HELP_EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  doctor: ['doctor', 'doctor --attempts', 'doctor --json'],
  cdist: [
    'cdist A.npy B.npy --out D.npy',
    'cdist A.csv:x,y B.parquet:x,y --p 1 --out D.csv',
    'cdist - B.npy --device cpu --dtype float32 --out -.jsonl < A.csv',
  ],
  kernel: [
    'kernel A.csv --preset gaussian --bandwidth 2 --out K.npy',
    'kernel A.npy B.npy --preset rationalQuadratic --bandwidth 2 --alpha 0.5 --out K.npz:k',
    'kernel A.npy --inner-operator diff --inner-power abs --kernel laplace --bandwidth 10 --out K.npy',
  ],
  'weighted-differences': ['weighted-differences A.npy B.npy C.npy D.npy --p 1.5 --out G.npy'],
  reduce: [
    "reduce --formula 'Exp(-SqDist(x,y))*b' --alias 'x=Vi(3)' --alias 'y=Vj(3)' --alias 'b=Vj(1)' --arg x=x.npy --arg y=y.npy --arg b=b.csv:weight --axis j --out a.npy",
    "reduce --formula 'SqDist(x,y)' --alias 'x=Vi(3)' --alias 'y=Vj(3)' --arg x=x.npy --arg y=y.npy --reduction KMin_ArgKMin --k 5 --axis j --out d.npy --out-indices i.npy",
  ],
  solve: [
    'solve A.npy B.npy --method cholesky --out X.npy',
    "solve b.npy --formula 'Exp(-SqDist(x,y))' --alias 'x=Vi(3)' --alias 'y=Vj(3)' --arg x=x.npy --arg y=x.npy --alpha 0.1 --out a.npy",
  ],
  eigh: ['eigh A.npy --values W.npy --vectors V.npy', 'eigh A.npy --uplo upper --values W.csv'],
  convert: [
    'convert points.csv:x,y --out points.parquet',
    'convert model.safetensors:weight --out weight.npy',
    'convert - --dtype float32 --out -.arrow < points.jsonl',
  ],
  plot: [
    'plot points.csv:x,y,label --title Points --out points.svg',
    'plot losses.csv:step,train,test --kind line --log y --out losses.png',
    'plot K.npy --kind heat-map --out - > K.svg',
    'plot digits.npy --kind images --image-shape 28x28 --out digits.png',
  ],
  'cache warm': [
    'cache warm --descriptors gaussian,laplace --dtype float32 --sizes 1000x1000x64',
    'cache warm --usual',
  ],
  'cache export': ['cache export --out kernels'],
  'cache stats': ['cache stats', 'cache stats --json'],
  'cache list': ['cache list'],
  'cache verify': ['cache verify'],
  'cache prune': ['cache prune --max-bytes 500M'],
  'cache clear': ['cache clear'],
  'bench compare': ['bench compare before.json after.json'],
  'bench limits': ['bench limits --device cuda:0'],
  'bench cdist': ['bench cdist --quick', 'bench cdist --out report.json --plot plot.svg'],
  'bench kermac': ['bench kermac --operations laplace,weightedDifferences'],
  'bench linalg': ['bench linalg --n 64,512 --operations solveLU,eigh'],
  'bench keops': ['bench keops --n 1000,10000 --d 3,10'],
  'bench solvers': ['bench solvers --preconditioners none,nystromColumns --ranks 100,300'],
  'bench calls': ['bench calls --operations map,cdist'],
  'bench shards': ['bench shards --devices cuda:0,cuda:1 --n 1000000'],
  'bench autodiff': ['bench autodiff --operations sgdStep,chain'],
  'bench optim': ['bench optim --operations adam,muon'],
  'bench digits': ['bench digits --optimizers adam,kfac --rates 0.01,0.1 --seeds 5'],
  'bench truncated': ['bench truncated --points 1000000 --bandwidths 0.03,0.1 --error 1e-6'],
  profile: ['profile node program.mjs', 'profile --trace trace.json node program.mjs'],
  'train digits': [
    'train digits --model convolutional --optimizer adam,kfac --report report.html',
    'train digits --checkpoint run.safetensors --epochs 10',
    'train digits --resume run.safetensors --epochs 20',
  ],
  'demo digits': ['demo digits', 'demo digits --p 1,2,inf --out report.html'],
  completion: [
    'completion bash > ~/.local/share/bash-completion/completions/mercer',
    'completion zsh > ~/.zfunc/_mercer',
    'completion fish > ~/.config/fish/completions/mercer.fish',
  ],
};

/** The examples of a command as its help shows them; of a command with subcommands the first of each. */
export function examplesText(path: string): string {
  const ofParts = Object.entries(HELP_EXAMPLES).filter(([part]) => part.startsWith(`${path} `));
  const examples = HELP_EXAMPLES[path] ?? ofParts.flatMap(([, [first = '']]) => first);
  if (examples.length === 0) return '';
  return ['\nExamples:', ...examples.map((example) => `  mercer ${example}`)].join('\n');
}
