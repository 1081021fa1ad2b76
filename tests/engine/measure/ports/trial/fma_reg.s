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
	xorl	%r8d, %r8d
	movq	%rdx, %rdi
	leaq	16384(%rsi), %r11
	vxorps	%xmm10, %xmm10, %xmm10
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	andq	$-32, %rsp
	subq	$136, %rsp
	.cfi_offset 3, -24
.L2:
	movq	%r11, %rcx
	leaq	(%r9,%r8,4), %rbx
	movq	%rdi, %rsi
	xorl	%r10d, %r10d
.L6:
	vxorps	%xmm9, %xmm9, %xmm9
	vmovaps	%ymm10, 72(%rsp)
	movq	%rbx, %rax
	leaq	-16384(%rcx), %rdx
	vmovaps	%ymm10, 104(%rsp)
	vmovaps	%ymm9, %ymm8
	vmovaps	%ymm9, %ymm7
	vmovaps	%ymm9, %ymm6
	vmovaps	%ymm9, %ymm5
	vmovaps	%ymm9, %ymm4
	vmovaps	%ymm9, %ymm3
	.p2align 4,,10
	.p2align 3
.L3:
	vmovups	(%rax), %ymm2
	vmovups	(%rdx), %ymm0
	addq	$4, %rax
	addq	$256, %rdx
	vmovups	-224(%rdx), %ymm1
	vbroadcastss	%xmm2, %ymm2
	vfmadd231ps	%ymm2, %ymm0, %ymm4
	vfmadd231ps	%ymm2, %ymm1, %ymm5
	vmovups	252(%rax), %ymm2
	vbroadcastss	%xmm2, %ymm2
	vfmadd231ps	%ymm2, %ymm0, %ymm6
	vfmadd231ps	%ymm2, %ymm1, %ymm7
	vmovups	508(%rax), %ymm2
	vbroadcastss	%xmm2, %ymm2
	vfmadd231ps	%ymm2, %ymm0, %ymm8
	vfmadd231ps	%ymm2, %ymm1, %ymm9
	vbroadcastss	764(%rax), %ymm2
	vfmadd213ps	72(%rsp), %ymm2, %ymm0
	vfmadd231ps	%ymm1, %ymm2, %ymm3
	vmovaps	%ymm0, 72(%rsp)
	vmovaps	%ymm3, 104(%rsp)
	cmpq	%rcx, %rdx
	jne	.L3
	addl	$16, %r10d
	vmovups	%ymm4, (%rsi)
	leaq	64(%rdx), %rcx
	addq	$64, %rsi
	vmovups	%ymm5, -32(%rsi)
	vmovups	%ymm6, 192(%rsi)
	vmovups	%ymm7, 224(%rsi)
	vmovups	%ymm8, 448(%rsi)
	vmovups	%ymm9, 480(%rsi)
	vmovups	%ymm0, 704(%rsi)
	vmovups	%ymm3, 736(%rsi)
	cmpl	$64, %r10d
	jne	.L6
	addq	$256, %r8
	addq	$1024, %rdi
	cmpq	$4096, %r8
	jne	.L2
	vzeroupper
	movq	-8(%rbp), %rbx
	leave
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE0:
	.size	__tvm_ffi_main, .-__tvm_ffi_main
