// Every link name (libascendcl.so, libopapi_nn.so, ...) is this file: functions that do nothing but
// jump to the library's, their arguments left where the caller put them. So a process has one
// library, with one registry of handles, however many of the names it is linked with or opens.
asm(R"(
.text
.macro forward function
  .p2align 4
  .globl \function
  .type \function, %function
\function:
  endbr64
  jmp npu_quant_\function@PLT
  .size \function, . - \function
.endm
)"
#include "forwards.inc"
);
