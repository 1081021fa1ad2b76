	.text
	.p2align 4
	.globl	__tvm_ffi_main
	.type	__tvm_ffi_main, @function
__tvm_ffi_main:
.LFB0:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rdi, %r9
	movq	%rsi, %rdi
	xorl	%r8d, %r8d
	movq	%rdx, %rsi
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r12
	pushq	%rbx
	.cfi_offset 12, -24
	.cfi_offset 3, -32
	leaq	16384(%rdi), %rbx
.L2:
	movq	%r8, %r10
	movq	%rdi, %r11
	leaq	256(%rsi), %r12
	movq	%rbx, %rcx
	salq	$8, %r10
	addq	%r9, %r10
.L6:
	vmovups	(%rsi), %ymm1
	movq	%r10, %rdx
	movq	%r11, %rax
	.p2align 4,,10
	.p2align 3
.L3:
	vbroadcastss	(%rdx), %ymm0
	vmulps	(%rax), %ymm0, %ymm0
	addq	$256, %rax
	addq	$4, %rdx
	vaddps	%ymm0, %ymm1, %ymm1
	cmpq	%rcx, %rax
	jne	.L3
	vmovups	%ymm1, (%rsi)
	addq	$32, %rsi
	addq	$32, %r11
	leaq	32(%rax), %rcx
	cmpq	%r12, %rsi
	jne	.L6
	addq	$1, %r8
	cmpq	$64, %r8
	jne	.L2
	vzeroupper
	popq	%rbx
	popq	%r12
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE0:
	.size	__tvm_ffi_main, .-__tvm_ffi_main
