"""Stands for packages that Kermac needs beside torch and CUDA, where a machine lacks them: where its cache lies, the cache itself, which is kept
in memory then, and the module that cuda.core had before it left `experimental`. Puts the headers that it compiles with into one folder.

Asked for with MERCER_KERMAC_PACKAGES=stand-ins.
"""

import importlib
import importlib.metadata
import os
import sys
import tempfile
import types


class Transaction:
    """What Kermac asks of a transaction of lmdb."""

    def __init__(self, tables, table):
        self.tables = tables
        self.table = table

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return False

    def put(self, key, value, db=None):
        self.tables[self.table if db is None else db][bytes(key)] = bytes(value)
        return True

    def get(self, key, db=None):
        return self.tables[self.table if db is None else db].get(bytes(key))

    def drop(self, db, delete=False):
        self.tables[db].clear()


class Environment:
    """What Kermac asks of an environment of lmdb, in memory."""

    def __init__(self):
        self.tables = {None: {}}

    def open_db(self, name):
        self.tables.setdefault(name, {})
        return name

    def begin(self, write=False, db=None):
        return Transaction(self.tables, db)

    def close(self):
        self.tables = {None: {}}


def headers_in_one_folder():
    """Kermac reads <cuda/std/...> from $CUDA_HOME/include. Toolkits of CUDA 13 have it one folder deeper: links put both side by side."""
    include = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")
    deeper = os.path.join(include, "cccl")
    if os.path.isdir(os.path.join(include, "cuda", "std")) or not os.path.isdir(deeper):
        return
    home = tempfile.mkdtemp(prefix="kermac-cuda-")
    os.mkdir(os.path.join(home, "include"))
    for folder in (include, deeper):
        for name in os.listdir(folder):
            link = os.path.join(home, "include", name)
            if not os.path.lexists(link):
                os.symlink(os.path.join(folder, name), link)
    os.environ["CUDA_HOME"] = home


def install():
    """Makes the stand-ins importable under the names of what is missing, and its headers findable."""
    headers_in_one_folder()
    if is_missing("lmdb"):
        sys.modules["lmdb"] = module("lmdb", open=lambda *_path, **_options: Environment())
    if is_missing("platformdirs"):
        folder = os.path.join(tempfile.gettempdir(), "kermac-peer")
        sys.modules["platformdirs"] = module("platformdirs", user_cache_dir=lambda *_names, **_options: folder)
    if is_missing("cuda.core.experimental"):
        core = importlib.import_module("cuda.core")
        members = {**vars(core), "ObjectCode": objects_of(core), "Program": programs_of(core)}
        sys.modules["cuda.core.experimental"] = module("cuda.core.experimental", **members)
        sys.modules["cuda.core.experimental._module"] = importlib.import_module("cuda.core._module")
    version = importlib.metadata.version

    def version_of(name):
        try:
            return version(name)
        except importlib.metadata.PackageNotFoundError:
            if name != "kermac":
                raise
            return "from a folder"

    importlib.metadata.version = version_of


class Compiled:
    """Compiled code with the names of its kernels in `_sym_map`, where Kermac reads and writes them."""

    def __init__(self, code, names):
        self.inner = code
        self.code = code.code
        self._sym_map = names

    def get_kernel(self, name):
        lowered = self._sym_map.get(name, name)
        return self.inner.get_kernel(lowered.decode() if isinstance(lowered, bytes) else lowered)


def objects_of(core):
    return module("ObjectCode", from_cubin=lambda code: Compiled(core.ObjectCode.from_cubin(code), {}))


def programs_of(core):
    class Program:
        def __init__(self, *arguments, **options):
            self.inner = core.Program(*arguments, **options)

        def compile(self, *arguments, **options):
            code = self.inner.compile(*arguments, **options)
            return Compiled(code, dict(code.symbol_mapping))

    return Program


def is_missing(name):
    try:
        importlib.import_module(name)
        return False
    except ImportError:
        return True


def module(name, **members):
    made = types.ModuleType(name)
    vars(made).update(members)
    return made
