// As x86_64.cpp, where it is explained.
asm(R"(
.text
.macro forward function
  .p2align 4
  .globl \function
  .type \function, %function
\function:
  hint 34  // bti c
  b npu_quant_\function
  .size \function, . - \function
.endm
)"
#include "forwards.inc"
);
