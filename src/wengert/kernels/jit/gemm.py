"""Calls of a BLAS from chunks of our own threads, in LLVM's intermediate representation.

OpenBLAS's workers wait in a loop for some 30 milliseconds after a product, and take the cores
from whatever comes next. Here the BLAS is held to one thread, and a product is cut into
pieces of rows or columns, which the pool's threads compute.
"""

from __future__ import annotations

HOLD_TEXT = """\
@users = internal global i64 0
@before = internal global i64 1
@get = internal global ptr null
@set = internal global ptr null
@mutex = internal global [16 x i64] zeroinitializer, align 64
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)

; Begin, with the functions of the BLAS that get and set the number of its threads.
define void @blas_start(ptr %get, ptr %set) {
  store ptr %get, ptr @get
  store ptr %set, ptr @set
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  ret void
}

; In the child of a fork: the others who held it are not there.
define void @blas_forked() {
entry:
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %users = load i64, ptr @users
  %held = icmp ne i64 %users, 0
  br i1 %held, label %restore, label %done
restore:
  store i64 0, ptr @users
  %before = load i64, ptr @before
  %set = load ptr, ptr @set
  call void %set(i64 %before)
  br label %done
done:
  ret void
}

; Hold the BLAS to one thread, until all who did have let go.
define void @blas_hold() {
entry:
  call i32 @pthread_mutex_lock(ptr @mutex)
  %users = load i64, ptr @users
  %more = add i64 %users, 1
  store i64 %more, ptr @users
  %first = icmp eq i64 %users, 0
  br i1 %first, label %look, label %done
look:
  %get = load ptr, ptr @get
  %now = call i32 %get()
  %before = zext i32 %now to i64
  store i64 %before, ptr @before
  %several = icmp ugt i32 %now, 1
  br i1 %several, label %change, label %done
change:
  %set = load ptr, ptr @set
  call void %set(i64 1)
  br label %done
done:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

define void @blas_let_go() {
entry:
  call i32 @pthread_mutex_lock(ptr @mutex)
  %users = load i64, ptr @users
  %less = sub i64 %users, 1
  store i64 %less, ptr @users
  %last = icmp eq i64 %less, 0
  %before = load i64, ptr @before
  %several = icmp ugt i64 %before, 1
  %change = and i1 %last, %several
  br i1 %change, label %restore, label %done
restore:
  %set = load ptr, ptr @set
  call void %set(i64 %before)
  br label %done
done:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

; The number of its threads, from now on or when all have let go.
define void @blas_threads(i64 %count) {
entry:
  call i32 @pthread_mutex_lock(ptr @mutex)
  %users = load i64, ptr @users
  %held = icmp ne i64 %users, 0
  br i1 %held, label %later, label %now
later:
  store i64 %count, ptr @before
  br label %done
now:
  %set = load ptr, ptr @set
  call void %set(i64 %count)
  br label %done
done:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}
"""

# The arguments of the kernel, in the letters of `compiler.load`.
KINDS = "ppppiiiiiiiiiRiiiiiiiii"

_GEMM_TEXT = """\
declare void @blas_hold()
declare void @blas_let_go()
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; out = alpha * a @ b, plus `bias` in each row if given, else plus beta * out, for the pieces
; of a batch from `start` on. The product of a batch has (m, n) elements and `k` terms in each;
; ta and tb say which factors lie transposed; a row, or column, of them is `lda`, `ldb` apart.
; `down` says whether pieces are rows, `part` how many rows or columns one has, `pieces` how
; many there are to a product. Where batches have two axes, the second is `inner` long.
define void @gemm(ptr %a, ptr %b, ptr %bias, ptr %out, i64 %function, i64 %ta, i64 %tb,
                  i64 %m, i64 %n, i64 %k, i64 %lda, i64 %ldb, i64 %ldc, REAL %alpha, i64 %add,
                  i64 %down, i64 %part, i64 %pieces, i64 %inner,
                  i64 %a0, i64 %a1, i64 %b0, i64 %b1, i64 %start, i64 %stop) {
entry:
SCALARS
  %call = inttoptr i64 %function to ptr
  %kept = icmp ne i64 %add, 0
  %rows = icmp ne i64 %down, 0
  %turna = icmp ne i64 %ta, 0
  %turnb = icmp ne i64 %tb, 0
  %waya = select i1 %turna, i32 112, i32 111
  %wayb = select i1 %turnb, i32 112, i32 111
  %stepa = select i1 %turna, i64 1, i64 %lda
  %stepb = select i1 %turnb, i64 %ldb, i64 1
  %some = icmp ne ptr %bias, null
  %plus = or i1 %some, %kept
  %beta = select i1 %plus, REAL 1.0, REAL 0.0
  PUT
  %area = mul i64 %m, %ldc
  call void @blas_hold()
  br label %next
next:
  %i = phi i64 [%start, %entry], [%following, %product]
  %more = icmp slt i64 %i, %stop
  br i1 %more, label %work, label %done
work:
  %batch = sdiv i64 %i, %pieces
  %piece = srem i64 %i, %pieces
  %outer = sdiv i64 %batch, %inner
  %within = srem i64 %batch, %inner
  %oa0 = mul i64 %outer, %a0
  %oa1 = mul i64 %within, %a1
  %ob0 = mul i64 %outer, %b0
  %ob1 = mul i64 %within, %b1
  %oa = add i64 %oa0, %oa1
  %ob = add i64 %ob0, %ob1
  %oc = mul i64 %batch, %area
  %first = mul i64 %piece, %part
  %across = select i1 %rows, i64 %m, i64 %n
  %left = sub i64 %across, %first
  %size = call i64 @llvm.smin.i64(i64 %left, i64 %part)
  %row = select i1 %rows, i64 %first, i64 0
  %column = select i1 %rows, i64 0, i64 %first
  %height = select i1 %rows, i64 %size, i64 %m
  %width = select i1 %rows, i64 %n, i64 %size
  %fa = mul i64 %row, %stepa
  %fb = mul i64 %column, %stepb
  %fc = mul i64 %row, %ldc
  %pa0 = getelementptr ELEMENT, ptr %a, i64 %oa
  %pa = getelementptr ELEMENT, ptr %pa0, i64 %fa
  %pb0 = getelementptr ELEMENT, ptr %b, i64 %ob
  %pb = getelementptr ELEMENT, ptr %pb0, i64 %fb
  %pc0 = getelementptr ELEMENT, ptr %out, i64 %oc
  %pc1 = getelementptr ELEMENT, ptr %pc0, i64 %fc
  %pc = getelementptr ELEMENT, ptr %pc1, i64 %column
  br i1 %some, label %spread, label %product
spread:
  %pd = getelementptr ELEMENT, ptr %bias, i64 %column
  %bytes = mul i64 %width, SIZE
  br label %line
line:
  %r = phi i64 [0, %spread], [%r1, %line]
  %shift = mul i64 %r, %ldc
  %to = getelementptr ELEMENT, ptr %pc, i64 %shift
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %pd, i64 %bytes, i1 false)
  %r1 = add i64 %r, 1
  %lines = icmp slt i64 %r1, %height
  br i1 %lines, label %line, label %product
product:
  call void %call(i32 101, i32 %waya, i32 %wayb, i64 %height, i64 %width, i64 %k,
                  ALPHA, ptr %pa, i64 %lda, ptr %pb, i64 %ldb, BETA,
                  ptr %pc, i64 %ldc)
  %following = add i64 %i, 1
  br label %next
done:
  call void @blas_let_go()
  ret void
}
"""


# Scalars of complex products come by address.
_SCALARS = """\
  %alphas = alloca ELEMENT
  %betas = alloca ELEMENT
  store ELEMENT zeroinitializer, ptr %alphas
  store ELEMENT zeroinitializer, ptr %betas
  store REAL %alpha, ptr %alphas"""

# dtype -> the real type, the type of an element, and its size
_TYPES = {
    "float32": ("float", "float", 4),
    "float64": ("double", "double", 8),
    "complex64": ("float", "[2 x float]", 8),
    "complex128": ("double", "[2 x double]", 16),
}


def gemm_text(dtype: str) -> str:
    """The kernel for a dtype."""
    real, element, size = _TYPES[dtype]
    by_address = real != element
    words = {
        "SCALARS": _SCALARS if by_address else "",
        "PUT": "store REAL %beta, ptr %betas" if by_address else "",
        "ALPHA": "ptr %alphas" if by_address else "REAL %alpha",
        "BETA": "ptr %betas" if by_address else "REAL %beta",
        "ELEMENT": element,
        "REAL": real,
        "SIZE": str(size),
    }
    text = _GEMM_TEXT
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


def kinds(dtype: str) -> str:
    """The kinds of its arguments."""
    return KINDS.replace("R", _TYPES[dtype][0][0])
